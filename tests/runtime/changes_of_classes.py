"""Programs whose classes are given special methods later: where Python looks for one, its absence was read."""

from __future__ import annotations

from tests.runtime.changes import Case

__all__ = ["CLASSES"]

PLAIN = "class B: pass\nclass A(B): pass\na=A(); b=A(); a.k=2.0; b.k=1.0\n"
NAMED = "from collections import namedtuple\nP=namedtuple('P','a b')\np=P(1.0,2.0)\n"
MEMBERS = "import enum\nclass E(enum.Enum):\n    A=1.0\n    B=2.0\ne=E.A\n"
NUMBERS = "import enum\nclass E(enum.IntEnum):\n    A=1\n    B=2\ne=E.A\n"
META = "class M(type): pass\nclass A(metaclass=M): k=2.0\na=A()\n"
DATA = "from dataclasses import dataclass\n@dataclass\nclass D:\n    k: float=2.0\nd=D()\n"
ERROR = "class E(ValueError): k=1.0\n"
SLOTS = "class A:\n    __slots__=('k',)\na=A(); a.k=2.0\n"
MODULE = "import types\nm=types.ModuleType('m'); m.k=2.0\n"
NAMELESS = "names={}; exec(\"A=type('A',(),{'k':2.0})\", names); A=names['A']\n"

BODY = "def f(x):\n    try: return {}\n    except TypeError: return x"
CAUGHT = "def f(x):\n    try: raise E(2.0)\n    except ValueError as e: return {}"

# what the function asks, what the class (or its base) had before, and what it is given
ATTRIBUTES = [
    ("x*a.k", "", "__getattribute__=lambda s,n: 3.0"),
    ("x*a.k", "k=5.0", "k=property(lambda s: 9.0)"),
    ("x*a.m()", "m=lambda s: 5.0", "__getattribute__=lambda s,n: (lambda: 7.0)"),
    ("x*2 if hasattr(a,'q') else x", "", "__getattribute__=lambda s,n: 3.0"),
    ("x*2 if hasattr(a,'q') else x", "", "__getattr__=lambda s,n: 3.0"),
    ("x*getattr(a,'q',4.0)", "", "__getattribute__=lambda s,n: 3.0"),
    ("x*getattr(a,'q',4.0)", "", "__getattr__=lambda s,n: 3.0"),
    ("x*(setattr(a,'k',5.0) or a.k)", "", "__setattr__=lambda s,n,v: s.__dict__.__setitem__(n,v+1)"),
    ("x*(vars(a).__setitem__('k',5.0) or a.k)", "", "k=property(lambda s: 9.0)"),
    ("x*(setattr(a,'j',1) or delattr(a,'j') or hasattr(a,'j')+1)", "", "__delattr__=lambda s,n: None"),
    ("x*getattr(A(),'k',5.0)", "", "__new__=lambda c: Z"),
    ("x*getattr(A(),'k',5.0)", "", "__init__=lambda s: s.__dict__.update(k=9.0)"),
    ("x*getattr(A(),'k',5.0)", "", "__getattr__=lambda s,n: 7.0"),
    ("x*getattr(A(),'k',5.0)", "", "__getattribute__=lambda s,n: 7.0"),
]
OPERATIONS = [
    *((f"x*(a{op}b)", "", f"__{name}__=lambda s,o: 5.0") for op, name in (
        ("==", "eq"), ("!=", "ne"), ("<", "lt"), (">=", "ge"), ("+", "add"), ("@", "matmul"), ("//", "floordiv"),
        ("&", "and"), ("%", "mod"), ("**", "pow"))),
    ("x*2 if a!=b else x", "", "__eq__=lambda s,o: True"),
    *((f"x*2 if {other}==a else x", "", "__eq__=lambda s,o: True") for other in ("1", "[]", "'a'", "None", "int")),
    ("x*2 if (a,)==(b,) else x", "", "__eq__=lambda s,o: True"),
    ("x*2 if b in [a] else x", "", "__eq__=lambda s,o: True"),
    ("x*(1+[a,b].index(b))", "", "__eq__=lambda s,o: True"),
    ("x*[a,b].count(b)", "", "__eq__=lambda s,o: True"),
    ("x*(1.0+a)", "", "__radd__=lambda s,o: 5.0"),
    ("x*sum([a,b])", "", "__radd__=lambda s,o: 5.0"),
    ("added(a)*x", "__add__=lambda s,o: 2.0", "__iadd__=lambda s,o: 5.0"),
    ("x*a", "", "__rmul__=lambda s,o: o+1"),
    ("x*a", "__rmul__=lambda s,x: np.asarray(x).sum()*2", "__array_ufunc__=None"),
    ("x*a", "__rmul__=lambda s,x: np.asarray(x).sum()*2", "__array_ufunc__=lambda s,u,m,*i,**k: i[0]+7"),
    ("x*a", "__rmul__=lambda s,x: np.asarray(x).sum()*2", "__array_priority__=1000"),
    ("x<a", "__gt__=lambda s,x: np.asarray(x).sum()*2", "__array_ufunc__=None"),
    ("np.add(x,a)", "__radd__=lambda s,x: 2.0+x", "__array_ufunc__=lambda s,u,m,*i,**k: i[0]+7"),
    ("x*np.asarray(a)", "__array__=lambda s,dtype=None,copy=None: np.ones(3)", "__array_interface__=W"),
    ("x*np.sum(a)", "__array__=lambda s,dtype=None,copy=None: np.ones(3)", "__array_function__=lambda s,*a: 9.0"),
    ("x*np.sum(a)", "__array__=lambda s,dtype=None,copy=None: np.ones(3)", "sum=lambda s,*a,**k: 9.0"),
    *((f"x*({op}a)", "", f"__{name}__=lambda s: 5.0") for op, name in (("-", "neg"), ("~", "invert"))),
    ("x*abs(a)", "", "__abs__=lambda s: 5.0"),
]  # fmt: skip
PROTOCOLS = [
    ("x*len(a)", "", "__len__=lambda s: 3"),
    ("x*2 if a else x", "", "__len__=lambda s: 0"),
    ("x*2 if a else x", "", "__bool__=lambda s: False"),
    ("x*float(a)", "", "__index__=lambda s: 3"),
    ("x*float(a)", "__index__=lambda s: 2", "__float__=lambda s: 3.0"),
    ("x*int(a)", "__index__=lambda s: 2", "__int__=lambda s: 3"),
    ("x*complex(a)", "", "__complex__=lambda s: 3j"),
    ("x*len(range(a))", "", "__index__=lambda s: 3"),
    ("x*[1.0,2.0][a]", "", "__index__=lambda s: 1"),
    ("x*len(str(a))", "__repr__=lambda s: 'ab'", "__str__=lambda s: 'abcd'"),
    ("x*len(f'{a}')", "__repr__=lambda s: 'ab'", "__format__=lambda s,t: 'abcd'"),
    ("x*len('%s' % a)", "__repr__=lambda s: 'ab'", "__str__=lambda s: 'abcd'"),
    ("x*sum(a)", "__getitem__=lambda s,i: [1.0,2.0][i]", "__iter__=lambda s: iter([5.0])"),
    ("x*2 if 5.0 in a else x", "__getitem__=lambda s,i: [1.0,2.0][i]", "__iter__=lambda s: iter([5.0])"),
    ("x*2 if 5.0 in a else x", "__iter__=lambda s: iter([1.0])", "__contains__=lambda s,v: True"),
    ("x*sum(reversed(a))", "__getitem__=lambda s,i: i\n    __len__=lambda s: 2", "__reversed__=lambda s: iter([5.0])"),
    ("x*next(a)", "", "__next__=lambda s: 3.0"),
    ("x*a[0]", "", "__getitem__=lambda s,i: 3.0"),
    ("x*a()", "", "__call__=lambda s: 3.0"),
    ("x*2 if callable(a) else x", "", "__call__=lambda s: 3.0"),
    ("x*len([*a])", "", "__iter__=lambda s: iter('ab')"),
    ("x*sorted([a,b])[0].k", "__lt__=lambda s,o: s.k<o.k", "__lt__=lambda s,o: s.k>o.k"),
]
USES = "W=np.full(3,9.0).__array_interface__\nclass Z: k=7.0\ndef added(v):\n    v+=1\n    return v\n"


def _given(whom: str, row: tuple[str, str, str]) -> Case:
    """A class or its base is given a method; what is there before stands in the base, or is replaced there."""
    use, before, given = row
    program = PLAIN.replace("class B: pass", f"class B:\n    {before or 'pass'}") + USES + BODY.format(use)
    return Case(f"{whom} is given {given[:50]} for {use} after {before[:20]}", program, f"{whom}.{given}")


def _asked(prefix: str, what: str, rows: list[tuple[str, str]], body: str = BODY) -> list[Case]:
    return [Case(f"{what}: {change[:40]} for {use}", prefix + body.format(use), change) for use, change in rows]


CLASSES = [
    *(_given(whom, row) for row in (*ATTRIBUTES, *OPERATIONS, *PROTOCOLS) for whom in ("A", "B")),
    *_asked(META, "metaclass", [
        ("x*A.k", "M.k=property(lambda c: 9.0)"),
        ("x*A.k", "M.__getattribute__=lambda c,n: 9.0"),
        ("x*getattr(A,'q',3.0)", "M.q=9.0"),
        ("x*getattr(A,'q',3.0)", "M.__getattr__=lambda c,n: 9.0"),
        ("x*2 if hasattr(A,'q') else x", "M.__getattr__=lambda c,n: 9.0"),
        ("x*A().k", "class Z: k=9.0\nM.__call__=lambda c: Z"),
        ("x*2 if isinstance(1,A) else x", "M.__instancecheck__=lambda c,o: True"),
        ("x*2 if issubclass(int,A) else x", "M.__subclasscheck__=lambda c,o: True"),
        ("x*2 if A==int else x", "M.__eq__=lambda c,o: True\nM.__hash__=type.__hash__"),
        ("x*2 if A else x", "M.__bool__=lambda c: False"),
        ("x*2 if A else x", "M.__len__=lambda c: 0"),
        ("x*A[0]", "M.__getitem__=lambda c,i: 5.0"),
        ("x*sum(A)", "M.__iter__=lambda c: iter([5.0])"),
        ("x*(A+1)", "M.__add__=lambda c,v: 3.0"),
        ("x*len(repr(A))", "M.__repr__=lambda c: 'abc'"),
    ]),
    Case("metaclass in a pattern", META + "def f(x):\n    match 1:\n        case A(): return x*2\n    return x",
         "M.__instancecheck__=lambda c,o: True"),
    Case("metaclass of an exception", "class M(type): pass\nclass E(Exception, metaclass=M): pass\ndef f(x):\n"
         "    try: raise KeyError\n    except E: return x*2\n    except Exception: return x",
         "M.__subclasscheck__=lambda c,o: True\nM.__instancecheck__=lambda c,o: True"),
    Case("metaclass assigned", "class M(type): k=2.0\nclass N(type): k=3.0\nclass A(metaclass=M): pass\n"
         "def f(x): return x*A.k", "A.__class__=N"),
    *_asked(NAMED, "named tuple", [
        ("x*p[1]", "P.__getitem__=lambda s,i: 9.0"), ("x*len(p)", "P.__len__=lambda s: 9"),
        ("x*sum(p)", "P.__iter__=lambda s: iter([9.0])"), ("x*p.b", "P.__getattribute__=lambda s,n: 9.0"),
        ("x*getattr(p,'q',3.0)", "P.__getattr__=lambda s,n: 9.0"),
        ("x*2 if p==(1,3) else x", "P.__eq__=lambda s,o: True"),
        ("x*2 if p else x", "P.__bool__=lambda s: False"), ("x*len(p._fields)", "P._fields=('u','v','w')"),
        ("x*p._replace(a=5.0)[1]", "P._replace=lambda s,**k: [0,7.0]"),
        ("x*p._asdict()['b']", "P._asdict=lambda s: {'b':9.0}"),
        ("x*(p+(3.0,))[0]", "P.__add__=lambda s,o: [9.0]"), ("x*(p*2)[0]", "P.__mul__=lambda s,o: [9.0]"),
        ("x*2 if 7 in p else x", "P.__contains__=lambda s,o: True"), ("x*len(repr(p))", "P.__repr__=lambda s: 'a'"),
        ("x*len(str(p))", "P.__str__=lambda s: 'a'"),
        ("x*P(1.0,2.0).a", "P.__new__=lambda c,a,b: tuple.__new__(c,(9.0,9.0))"),
        ("x*P(1.0,2.0).a", "P.__init__=lambda s,a,b: setattr(P,'a',9.0)"),
        ("x*P(1.0).b", "P.__new__.__defaults__=(9.0,)"),
        ("x*p.index(2.0)", "P.index=lambda s,v: 9"), ("x*p.count(2.0)", "P.count=lambda s,v: 9"),
        ("x*np.asarray(p).sum()", "P.__array__=lambda s,dtype=None,copy=None: np.ones(3)*9"),
    ]),
    *_asked(MEMBERS, "member", [
        ("x*2 if e==E.B else x", "E.__eq__=lambda s,o: True"), ("x*2 if e else x", "E.__bool__=lambda s: False"),
        ("x*e.value", "E.value=property(lambda s: 9.0)"), ("x*e.value", "E.__getattribute__=lambda s,n: 9.0"),
        ("x*getattr(e,'q',3.0)", "E.__getattr__=lambda s,n: 9.0"), ("x*len(str(e))", "E.__str__=lambda s: 'a'"),
        ("x*e()", "E.__call__=lambda s: 9.0"), ("x*2 if e<E.B else x", "E.__lt__=lambda s,o: True"),
        ("x*getattr(e,'q',3.0)", "E.A.q=9.0"),
    ]),
    *_asked(NUMBERS, "number", [
        ("x*(e+1)", "E.__add__=lambda s,o: 9"), ("x*(e*2)", "E.__mul__=lambda s,o: 9.0"),
        ("x*-e", "E.__neg__=lambda s: 9"),
        ("x*2 if e==1 else x", "E.__eq__=lambda s,o: False"), ("x*int(e)", "E.__int__=lambda s: 9"),
        ("x*float(e)", "E.__float__=lambda s: 9.0"), ("x*2 if e<2 else x", "E.__lt__=lambda s,o: False"),
    ]),
    *_asked(DATA, "dataclass", [
        ("x*D(1.0).k", "D.__init__=lambda s,k: setattr(s,'k',9.0)"), ("x*d.k", "D.__getattribute__=lambda s,n: 9.0"),
        ("x*2 if d==D(7.0) else x", "D.__eq__=lambda s,o: True"), ("x*len(repr(d))", "D.__repr__=lambda s: 'a'"),
        ("x*D(1.0).k", "D.__setattr__=lambda s,n,v: object.__setattr__(s,n,9.0)"),
        ("x*D(1.0).k", "D.k=property(lambda s: 9.0, lambda s,v: None)"),
    ]),
    Case("frozen dataclass thaws", DATA.replace("@dataclass", "@dataclass(frozen=True)")
         + "def f(x):\n    try: d.k=5.0\n    except Exception: return x\n    return x*d.k",
              "D.__setattr__=object.__setattr__"),
    Case("dataclass ordered otherwise", DATA.replace("@dataclass", "@dataclass(order=True)")
         + "def f(x): return x*2 if d<D(7.0) else x", "D.__lt__=lambda s,o: False"),
    *_asked(ERROR, "exception", [
        ("x*len(str(e))", "E.__str__=lambda s: 'a'"),
        ("x*getattr(e,'q',e.args[0])", "E.__init__=lambda s,v: setattr(s,'q',5.0)"),
        ("x*e.args[0]", "class O(ValueError): pass\nE.__new__=lambda c,*a: ValueError.__new__(O,7.0)"),
        ("x*e.args[0]", "E.args=property(lambda s: (9.0,))"), ("x*e.k", "E.k=property(lambda s: 9.0)"),
        ("x*e.k", "E.__getattribute__=lambda s,n: 9.0"), ("x*getattr(e,'q',3.0)", "E.__getattr__=lambda s,n: 9.0"),
        ("x*2 if e else x", "E.__bool__=lambda s: False"), ("x*len(repr(e))", "E.__repr__=lambda s: 'a'"),
    ], CAUGHT),
    *_asked(SLOTS, "slots", [
        ("x*a.k", "A.__getattribute__=lambda s,n: 9.0"), ("x*a.k", "A.k=property(lambda s: 9.0)"),
        ("x*a.k", "del a.k; A.__getattr__=lambda s,n: 9.0"),
    ]),
    *_asked(MODULE, "module", [
        ("x*m.k", "class T(types.ModuleType): k=property(lambda s: 9.0)\nm.__class__=T"),
        ("x*getattr(m,'q',2.0)", "m.__getattr__=lambda n: 9.0"),
        ("x*2 if hasattr(m,'q') else x", "m.__getattr__=lambda n: 9.0"),
    ]),
    Case("reflected method of a subclass",
         "class A:\n    def __add__(s,o): return 2.0\n    def __radd__(s,o): return 4.0\n"
         "class B(A): pass\na=A();b=B()\ndef f(x): return x*(a+b)", "B.__radd__=lambda s,o: 9.0"),
    Case("reflected method of a later subclass",
         "class A:\n    def __add__(s,o): return 2.0\nclass Q: pass\nclass B(Q):\n"
         "    def __radd__(s,o): return 9.0\na=A();b=B()\ndef f(x): return x*(a+b)", "B.__bases__=(A,)"),
    Case("own __getattribute__ removed", "class A:\n    k=1.0\n    def __getattribute__(s,n): return 2.0\na=A()\n"
         "def f(x): return x*a.k", "del A.__getattribute__"),
    Case("own __setattr__ removed", "class A:\n    def __setattr__(s,n,v): object.__setattr__(s,n,v+1)\na=A()\n"
         "def f(x):\n    a.k=1.0\n    return x*a.k", "del A.__setattr__"),
    # what says nothing of where it is from, or something odd
    Case("class without __module__", NAMELESS + "a=A()\ndef f(x): return x*a.k", "A.k=9.0"),
    Case("class without __module__ called", NAMELESS + "def f(x): return x*A().k", "A.k=9.0"),
    Case("class whose __module__ is no text", "A=type('A',(),{'k':2.0,'__module__':5})\na=A()\ndef f(x): return x*a.k",
         "A.k=9.0"),
    Case("function whose __module__ is no text", "def g(x): return x+1\ng.__module__=5\ndef f(x): return g(x)*2",
         "g=lambda x: x-1"),
    Case("object whose __module__ is no text", "class A: k=2.0\na=A(); a.__module__=5; a.__name__='q'\n"
         "def f(x): return x*a.k", "A.k=9.0"),
    Case("object whose name cannot be asked",
         "class A:\n    k=2.0\n    @property\n    def __name__(s): raise ValueError\n"
         "a=A()\ndef f(x): return x*a.k", "A.k=9.0"),
]  # fmt: skip
