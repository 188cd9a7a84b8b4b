"""Rows: classes and what they define: dataclasses, enums, properties, operators, descriptors."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "instance made inside",
        """
class Layer:
    scale = 2.0
    def __init__(self, w, b=0.5):
        self.w = w
        self.b = b
    def __call__(self, x):
        return x * self.w * self.scale + self.b
def f(x, w):
    return Layer(w)(x) + Layer(w, b=1.0)(x)
""",
        ["A(4), A(4)"],
    ),
    Program(
        "instance given and changed",
        """
class State:
    def __init__(self):
        self.step = 0
        self.mean = 0.0
        self.gone = 1
def f(state, x):
    state.step += 1
    state.mean = state.mean + (x - state.mean) / state.step
    state.fresh = x.shape
    if hasattr(state, "gone"):
        del state.gone
    return state.mean * 2
s = State()
""",
        ["s, A(4)", "s, A(4)", "s, A(4)"],
    ),
    Program(
        "instance returned",
        """
class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b
def f(x):
    p = Pair(x + 1, None)
    p.b = Pair(p, x)
    return p, [p, p]
""",
        ["A(4)"],
    ),
    Program(
        "class attribute changed",
        """
class Counter:
    made = 0
    def __init__(self):
        Counter.made += 1
        self.index = Counter.made
def f(x):
    a, b = Counter(), Counter()
    return x * a.index + b.index, Counter.made
""",
        ["A(4)", "A(4)"],
    ),
    Program(
        "property with setter",
        """
class Circle:
    def __init__(self, r):
        self._r = r
        self.log = []
    @property
    def r(self):
        return self._r
    @r.setter
    def r(self, value):
        self.log.append(value)
        self._r = value
    @property
    def area(self):
        return self._r ** 2 * 3.0
    @r.deleter
    def r(self):
        self._r = 0.0
def f(x, c):
    c.r = c.r + 1.0
    y = x * c.area
    d = Circle(x)
    d.r = x + 1
    del d.r
    return y, d.r, d.log
c = Circle(2.0)
""",
        ["A(4), c"],
    ),
    Program(
        "inheritance and super",
        """
class Base:
    def __init__(self, k):
        self.k = k
    def run(self, x):
        return x * self.k
    @classmethod
    def make(cls, k):
        return cls(k)
    @staticmethod
    def shift(x):
        return x + 1
class Mid(Base):
    def run(self, x):
        return super().run(x) + 1
class Leaf(Mid):
    def __init__(self, k, j):
        super().__init__(k)
        self.j = j
    def run(self, x):
        return super().run(self.shift(x)) * self.j
    @classmethod
    def make(cls, k):
        made = super(Leaf, cls).make
        return cls(k, 2.0)
def f(x):
    return Leaf(2.0, 3.0).run(x), Leaf.make(4.0).run(x), Base.make(1.0).k, isinstance(Leaf(1, 2), Base)
""",
        ["A(4)"],
    ),
    Program(
        "multiple inheritance",
        """
class A_:
    def tag(self):
        return ["A"]
class B(A_):
    def tag(self):
        return ["B", *super().tag()]
class C(A_):
    def tag(self):
        return ["C", *super().tag()]
class D(B, C):
    def tag(self):
        return ["D", *super().tag()]
def f(x):
    return x + len(D().tag()), D().tag(), [k.__name__ for k in (type(D()), D)]
""",
        ["A(4)"],
    ),
    Program(
        "operators of an own class",
        """
class Vec:
    def __init__(self, v):
        self.v = v
    def __add__(self, other):
        return Vec(self.v + (other.v if isinstance(other, Vec) else other))
    __radd__ = __add__
    def __mul__(self, k):
        return Vec(self.v * k) if isinstance(k, (int, float)) else NotImplemented
    def __rmul__(self, k):
        return self * k
    def __neg__(self):
        return Vec(-self.v)
    def __matmul__(self, other):
        return (self.v * other.v).sum()
    def __getitem__(self, i):
        return self.v[i]
    def __setitem__(self, i, value):
        self.v[i] = value
    def __len__(self):
        return len(self.v)
    def __iadd__(self, other):
        self.v += other.v
        return self
    def __eq__(self, other):
        return self.v.shape == other.v.shape
    def __lt__(self, other):
        return len(self) < len(other)
    def __contains__(self, item):
        return item == 3
    def __bool__(self):
        return True
    def __abs__(self):
        return Vec(abs(self.v))
def f(x):
    a, b = Vec(x), Vec(x * 2)
    c = 1.0 + (a + b) * 2 + 3.0
    d = 2 * -c
    a += b
    a[0] = 7.0
    return c.v, d.v, a @ b, a[1:], len(d), a == b, a < b, a > b, 3 in a, not a, abs(d).v, a != b
""",
        ["A(4)"],
    ),
    Program(
        "array before an own class",
        """
class Vec:
    def __init__(self, v):
        self.v = v
    def __radd__(self, other):
        return ("radd", type(other).__name__)
class Leading(Vec):
    __array_ufunc__ = None
    def __radd__(self, other):
        return other + self.v
def f(x):
    return x + Leading(x), [1] + Leading([2]), 1.0 + Vec(x)
""",
        ["A(4)"],
    ),
    Program(
        "array before an own class without __array_ufunc__",
        """
class Vec:
    def __radd__(self, other):
        return ("radd", type(other).__name__)
def f(x):
    y = x * 2
    return y + Vec()
""",
        ["A(4)"],
        breaks=1,
    ),
    Program(
        "subclass operand goes first",
        """
class P:
    def __add__(self, other):
        return "P+"
    def __lt__(self, other):
        return "P<"
class Q(P):
    def __radd__(self, other):
        return "+Q"
    def __gt__(self, other):
        return "Q>"
class R:
    def __add__(self, other):
        return NotImplemented
    __radd__ = __iadd__ = __add__
def f(x):
    out = [P() + Q(), Q() + P(), P() < Q(), P() + 1]
    for pair in ((R(), R()), (R(), 1)):
        try:
            out.append(pair[0] + pair[1])
        except TypeError as error:
            out.append(str(error))
    return x + 1, out
""",
        ["A(4)"],
    ),
    Program(
        "class changed between calls",
        """
class K:
    rate = 2.0
    def mul(self, x, k=1.0):
        return x * self.rate * k
def change(step):
    if step == 1:
        K.rate = 3.0
    if step == 2:
        K.mul = lambda self, x: x - 1
    return step
def f(x, step):
    return K().mul(x)
""",
        ["A(4), change(0)", "A(4), change(1)", "A(4), change(2)"],
    ),
    Program(
        "attribute rules of an own class",
        """
class Lazy:
    def __init__(self, data):
        self.data = data
    def __getattr__(self, name):
        if name.startswith("times"):
            return self.data * int(name[5:])
        raise AttributeError(name)
def f(x):
    z = Lazy(x)
    return z.times3 + z.data, hasattr(z, "other"), getattr(z, "nothing", 5)
""",
        ["A(4)"],
    ),
    Program(
        "__setattr__ of an own class",
        """
class Watched:
    def __init__(self):
        object.__setattr__(self, "log", [])
    def __setattr__(self, name, value):
        self.log.append(name)
        super().__setattr__(name, value)
def f(x):
    w = Watched()
    w.a = x
    w.b = x * 2
    return w.a + w.b, w.log
""",
        ["A(4)"],
    ),
    Program(
        "descriptors",
        """
class Positive:
    def __set_name__(self, owner, name):
        self.slot = "_" + name
    def __get__(self, instance, owner):
        return self if instance is None else getattr(instance, self.slot)
    def __set__(self, instance, value):
        if value < 0:
            raise ValueError("negative")
        setattr(instance, self.slot, value)
class Twice:
    def __get__(self, instance, owner):
        return instance.size * 2
class Box:
    size = Positive()
    double = Twice()
    def __init__(self, size):
        self.size = size
def f(x):
    b = Box(2.0)
    b.size = b.size + 1.0
    try:
        b.size = -1.0
    except ValueError as error:
        return x * b.size + b.double, str(error)
""",
        ["A(4)"],
    ),
    Program(
        "slots",
        """
class P:
    __slots__ = ("a", "b")
    def __init__(self, a):
        self.a = a
def f(x, p):
    q = P(x)
    q.b = q.a + p.a
    p.a = q.b
    try:
        p.b
    except AttributeError:
        return q.b, q
p = P(2.0)
""",
        ["A(4), p"],
    ),
    Program(
        "private names",
        """
class Base:
    def __init__(self):
        self.__k = 2.0
    def base(self, x):
        def inner():
            return x * self.__k
        return inner()
class Leaf(Base):
    def __init__(self):
        super().__init__()
        self.__k = 3.0
    def leaf(self, x):
        return x * self.__k
def f(x):
    v = Leaf()
    return v.base(x), v.leaf(x), sorted(vars(v))
""",
        ["A(4)"],
    ),
)
