"""Programs whose answers hang on state outside the call: aliases, rebinding, places, iterators, effects."""

from __future__ import annotations

# fmt: off
PROGRAMS: list[tuple[str, str, tuple[str, ...]]] = [
    ("alias lists", """
a=[1.0]; b=[1.0]; x=np.ones(2)
def f(x,p,q):
    p.append(2.0)
    return x*len(q), p, q
""", ("f(x,a,b)", "f(x,a,a)", "f(x,b,a)",)),
    ("alias lists nested", """
a=[1.0]; t=[a,a]; u=[[1.0],[1.0]]; x=np.ones(2)
def f(x,t):
    t[0].append(2.0)
    return x*len(t[1]), t
""", ("f(x,t)", "f(x,u)", "f(x,t)",)),
    ("alias lists nested rev", """
a=[1.0]; t=[a,a]; u=[[1.0],[1.0]]; x=np.ones(2)
def f(x,t):
    t[0].append(2.0)
    return x*len(t[1]), t
""", ("f(x,u)", "f(x,t)", "f(x,u)",)),
    ("alias dicts", """
a={'k':1}; b={'k':1}; x=np.ones(2)
def f(x,p,q):
    p['k']=5
    return x*q['k']
""", ("f(x,a,b)", "f(x,a,a)", "f(x,b,a)",)),
    ("alias dict no effect then is", """
a={'k':1}; b={'k':1}; x=np.ones(2)
def f(x,p,q): return x*(2 if p is q else 3)
""", ("f(x,a,b)", "f(x,a,a)", "f(x,b,a)",)),
    ("alias objects", """
class A:
  pass
a=A();b=A();a.k=b.k=1; x=np.ones(2)
def f(x,p,q):
    p.k=5
    return x*q.k
""", ("f(x,a,b)", "f(x,a,a)", "a.k=3", "f(x,b,a)",)),
    ("alias object attr arrays", """
class A:
  pass
a=A();a.u=np.ones(2);a.v=np.ones(2)
def f(a):
    a.u += 1
    return a.v*2
""", ("f(a)", "a.u=a.v", "f(a)", "a.v=np.ones(2)", "f(a)",)),
    ("alias object and global", """
class A:
  pass
a=A();a.k=1;g=A();g.k=1; x=np.ones(2)
def f(x,p):
    p.k=5
    return x*g.k
""", ("f(x,a)", "f(x,g)", "g=a", "f(x,a)",)),
    ("list item array alias arg", """
x=np.ones(3);y=np.ones(3)
def f(l,a):
    l[0]+=1
    return a*2
""", ("f([x],y)", "f([x],x)", "f([y],x)", "f([x[:2]],x[1:])",)),
    ("class list held", """
x=np.ones(2)
class C:
  ks=[1,2]
f=lambda x: x*C.ks[0]
""", ("f(x)", "C.ks[0]=5", "f(x)", "C.ks.append(1)", "f(x)", "C.ks=[9]", "f(x)",)),
    ("class dict held", """
x=np.ones(2)
class C:
  d={'a':[1.0]}
c=C()
f=lambda x: x*c.d['a'][0]
""", ("f(x)", "C.d['a'][0]=5.0", "f(x)", "C.d['a']=[7.0]", "f(x)", "C.d={'a':[8.0]}", "f(x)",)),
    ("class array held", """
x=np.ones(2)
class C:
  w=np.ones(2)
c=C()
def f(x):
    x+=1
    return x*c.w
""", ("f(x)", "C.w[0]=5.0", "f(x)", "f(C.w)", "C.w=np.zeros(2)", "f(x)",)),
    ("class object held", """
x=np.ones(2)
class P: pass
class C:
  p=P()
C.p.k=2
c=C()
f=lambda x: x*c.p.k
""", ("f(x)", "C.p.k=5", "f(x)", "f(x)",)),
    ("property cls state", """
x=np.ones(2)
class C:
  _s=[1]
  @property
  def s(self): return self._s[0]
c=C()
f=lambda x: x*c.s
""", ("f(x)", "C._s[0]=5", "f(x)",)),
    ("int overflow dyn", """
x=np.ones(2)
def f(x,n): return x*(n*n*n), n*n*n*n, n+2**62
""", ("f(x,3)", "f(x,5)", "f(x,2147483648)", "f(x,4611686018427387904)", "f(x,-4611686018427387904)",)),
    ("int array dyn", """
x=np.ones(2,np.int8)
def f(x,n): return x*n
""", ("f(x,3)", "f(x,5)", "f(x,127)", "f(x,128)", "f(x,-128)", "f(x,-129)", "f(x,1099511627776)",)),
    ("float dyn inf", """
x=np.ones(2,np.float32)
def f(x,n): return x*n, n*2
""", ("f(x,float('3'))", "f(x,float('5'))", "f(x,float('inf'))", "f(x,float('nan'))", "f(x,float('-0.0'))",
        "f(x,float('1e300'))",)),
    ("float to int", """
x=np.ones(2)
def f(x,n): return x[:int(n)], int(n), n//2, n%2, round(n), -n, abs(n), n**2, n**0.5
""", ("f(x,3.5)", "f(x,1.5)", "f(x,2.5)", "f(x,-1.5)", "f(x,0.5)",)),
    ("float branch", """
x=np.ones(2)
def f(x,n):
    if n>2: return x
    return x*n
""", ("f(x,3.5)", "f(x,1.5)", "f(x,2.5)", "f(x,0.5)",)),
    ("kwargs dict", """
x=np.ones(2)
def g(a,*,b=1,**k): return a*b+sum(k.values())
def f(x,**k): return g(x,**k)
""", ("f(x,b=2,c=3)", "f(x,c=3,b=2)", "f(x,d=4)", "f(x)",)),
    ("star args", """
x=np.ones(2)
def f(x,*a): return x*len(a)+sum(a)
""", ("f(x,1,2)", "f(x,1)", "f(x,1,2,3)", "f(x,*[1,2])",)),
    ("nonlocal chain", """
x=np.ones(2)
def mk():
    n=0
    def f(x):
        nonlocal n
        n+=1
        return x*n
    return f
f=mk()
""", ("f(x)", "f(x)", "f(x)", "f(x)", "f(x)",)),
    ("global rebind", """
x=np.ones(2); n=0
def f(x):
    global n
    n+=1
    return x*n
""", ("f(x)", "f(x)", "f(x)", "f(x)", "f(x)", "f(x)", "n",)),
    ("global array rebind", """
x=np.ones(2); w=np.zeros(2)
def f(x):
    global w
    w=w+x
    return w
""", ("f(x)", "f(x)", "f(x)", "w",)),
    ("del global", """
x=np.ones(2); w=5
def f(x):
    global w
    y=x*w
    del w
    return y
""", ("f(x)", "f(x)", "w=3", "f(x)",)),
    ("zero size", """
def f(x): return x*2, x.sum(0), x.reshape(-1), x.T, x[:0], np.concatenate([x,x])
""", ("f(np.zeros((0,3)))", "f(np.zeros((3,0)))", "f(np.zeros((2,3)))", "f(np.zeros((0,0)))",
        "f(np.zeros((4,3)))",)),
    ("shape 1 bcast", """
def f(x,y): return x+y
""", ("f(np.ones((3,1)),np.ones((1,4)))", "f(np.ones((3,4)),np.ones((1,4)))", "f(np.ones((1,1)),np.ones((1,4)))",
        "f(np.ones((5,6)),np.ones((5,6)))", "f(np.ones((5,6)),np.ones((1,6)))", "f(np.ones((7,1)),np.ones((1,6)))",)),
    ("strided zero dims", """
def f(x): return x*2, x.copy(), np.ascontiguousarray(x), x.ravel(), x.flatten('F')
""", ("f(np.arange(12.).reshape(3,4)[:,::2])", "f(np.arange(12.).reshape(3,4).T)",
        "f(np.broadcast_to(np.arange(4.),(3,4)))", "f(np.arange(24.).reshape(2,3,4).transpose(1,2,0))",)),
    ("list subclass", """
class L(list):
  def append(self,v): super().append(v*2)
l=L([1.0]); x=np.ones(2)
def f(x,l):
    l.append(3.0)
    return x*l[-1]
""", ("f(x,l)", "f(x,[1.0])", "f(x,l)",)),
    ("dict subclass", """
class L(dict):
  def __missing__(self,k): return 7
l=L(); x=np.ones(2)
def f(x,l): return x*l['q']
""", ("f(x,l)", "f(x,{'q':2})", "f(x,l)", "f(x,{})",)),
    ("counter deque", """
import collections
c=collections.Counter('abca'); q=collections.deque([1,2,3]); x=np.ones(2)
def f(x,c,q):
    q.rotate(1); q.appendleft(9)
    return x*c['a']+c['zz']+q[0], list(q)
""", ("f(x,c,q)", "f(x,c,q)", "f(x,c,q)",)),
    ("iterator in attr", """
class A: pass
a=A(); a.it=iter([1,2,3,4]); x=np.ones(2)
def f(x): return x*next(a.it)
""", ("f(x)", "f(x)", "f(x)", "f(x)", "f(x)",)),
    ("generator global", """
g=(i*i for i in range(10)); x=np.ones(2)
def f(x): return x*next(g)
""", ("f(x)", "f(x)", "f(x)", "f(x)", "next(g)",)),
    ("iter list", """
l=[1,2,3]; it=iter(l); x=np.ones(2)
def f(x,it): return x*sum(it)
""", ("f(x,it)", "f(x,it)", "f(x,iter(l))", "l.append(5)", "f(x,it)",)),
    ("zip enumerate args", """
x=np.ones(2)
def f(x,z):
    for i,v in z: x=x*i+v
    return x
""", ("f(x,zip([1,2],[3,4]))", "f(x,enumerate([5,6]))", "f(x,{1:2}.items())", "f(x,[(1,2)])",)),
    ("dict view arg", """
d={'a':1.0,'b':2.0}; x=np.ones(2)
def f(x,v): return [x*k for k in v]
""", ("f(x,d.values())", "d['c']=3.0", "f(x,d.values())", "f(x,d.keys())",)),
    ("np monkeypatch method", """
x=np.ones(2)
def f(x): return np.linalg.norm(x)+np.add.reduce(x)
""", ("f(x)", "r=np.linalg.norm", "np.linalg.norm=lambda x: 5.0", "f(x)", "np.linalg.norm=r", "f(x)",)),
    ("math patch", """
import math
x=np.ones(2)
def f(x): return x*math.pi+math.sqrt(2)
""", ("f(x)", "p=math.pi", "math.pi=3", "f(x)", "math.pi=p", "f(x)",)),
    ("module reimport", """
x=np.ones(2)
import types
m=types.ModuleType('m'); m.f=lambda x: x+1
def f(x): return m.f(x)
""", ("f(x)", "m.f=lambda x:x+2", "f(x)", "m=types.ModuleType('m'); m.f=lambda x: x+7", "f(x)",)),
    ("import inside", """
x=np.ones(2)
def f(x):
    import math
    from math import floor
    return x*math.pi+floor(2.5)
""", ("f(x)", "import math; p=math.pi; math.pi=3", "f(x)", "math.pi=p", "f(x)",)),
    ("enum", """
import enum
class E(enum.Enum):
  A=1
  B=2
x=np.ones(2)
def f(x,e): return x*e.value if e is E.A else x-e.value, e.name, e
""", ("f(x,E.A)", "f(x,E.B)", "f(x,E.A)",)),
    ("nt alias", """
import collections
P=collections.namedtuple('P','a b'); x=np.ones(2)
def f(p):
    p.a[0]=9
    return p.b*2, p
""", ("f(P(x,np.ones(2)))", "f(P(x,x))",)),
    ("closure shared cell", """
x=np.ones(2)
def mk():
    v=[1]
    k=2
    def f(x):
        nonlocal k
        k=k+v[0]
        return x*k, (lambda: k)
    return f, v
f,v=mk()
""", ("f(x)[1]()", "v[0]=5", "f(x)[1]()", "f(x)[0]",)),
    ("weakref arg", """
import weakref
class A: pass
a=A(); a.k=2; r=weakref.ref(a); x=np.ones(2)
def f(x,r): return x*r().k
""", ("f(x,r)", "a.k=5", "f(x,r)",)),
    ("bool subclass np", """
x=np.ones(2)
def f(x,b): return x if b else -x
""", ("f(x,True)", "f(x,np.True_)", "f(x,0)", "f(x,np.bool_(0))", "f(x,[])", "f(x,[0])", "f(x,'')",)),
    ("str const", """
x=np.ones(2)
def f(x,s): return x*len(s), s.upper(), f'{s}!', s+'a', s[0]
""", ("f(x,'ab')", "f(x,'abc')", "f(x,np.str_('ab'))",)),
    ("dtype arg", """
def f(x,d): return x.astype(d), np.zeros(2,d), d
""", ("f(np.ones(2),np.float32)", "f(np.ones(2),'f4')", "f(np.ones(2),np.dtype('f4'))", "f(np.ones(2),float)",
        "f(np.ones(2),int)", "f(np.ones(2),bool)", "f(np.ones(2),'>f4')",)),
    ("ndarray attr set", """
x=np.arange(6.)
def f(x):
    y=x*2
    y.shape=(2,3)
    y.flags.writeable=False
    return y
""", ("f(x)", "f(x)",)),
    ("readonly out", """
x=np.arange(6.); r=np.arange(6.); r.flags.writeable=False
def f(x,r):
    y=x+1
    r[0]=2
    return y
""", ("f(x,x.copy())", "f(x,r)", "r",)),
    ("return input", """
x=np.arange(6.)
def f(x): return x, x.T, x[...], x.reshape(6), np.asarray(x), x.squeeze(), x.real, x.astype(float,copy=False), x.view()
""", ("f(x)", "f(x[::2])",)),
    ("swap list", """
x=np.ones(2)
def f(l):
    l[0],l[1]=l[1],l[0]
    l[0][0]=5
    return l[0]+l[1]
""", ("f([x,np.zeros(2)])", "a=[x,np.zeros(2)]", "f(a)", "a",)),
    ("mutable default dict", """
x=np.ones(2)
def f(x,c={}):
    c[len(c)]=x
    return x*len(c), c
""", ("f(x)", "f(x)", "f(x)", "f(x)",)),
    ("exception effects", """
l=[]; x=np.ones(3)
def f(x,n):
    l.append(n)
    x[0]=n
    if n>2: raise ValueError(n)
    return x.reshape(n,-1)
""", ("f(x,1)", "f(x,3)", "f(x,2)", "l", "x",)),
    ("try finally effects", """
l=[]; x=np.ones(3)
def f(x,n):
    try:
        l.append('a')
        return x.reshape(n,-1)
    finally:
        l.append('b')
""", ("f(x,1)", "f(x,2)", "f(x,3)", "l",)),
    ("print exception", """
x=np.ones(3)
def f(x,n):
    print('start',n)
    y=x.reshape(n,-1)
    print('end')
    return y
""", ("f(x,1)", "f(x,2)", "f(x,3)",)),
    ("recursion", """
x=np.ones(3)
def g(x,n): return x if n==0 else g(x*2,n-1)
def f(x,n): return g(x,n)
""", ("f(x,3)", "f(x,5)", "f(x,70)",)),
    ("inf recursion", """
x=np.ones(3)
def f(x): return f(x+1)
""", ("f(x)",)),
    ("sum of list", """
def f(l): return sum(l)
""", ("f([np.ones(2),np.zeros(2)])", "f([np.ones(2)])", "f([])", "f((1,2))",)),
    ("max of list", """
x=np.ones(2)
def f(x,l): return x*max(l), min(l), sorted(l), l.index(max(l))
""", ("f(x,[1,5,3])", "f(x,[7,5,3])", "f(x,[1.5,2])", "f(x,[np.float64(3),2])",)),
    ("complex const", """
x=np.ones(2)
def f(x,c): return x*c
""", ("f(x,1j)", "f(x,2j)", "f(x,complex(0.0,-0.0))", "f(x,complex(-0.0,0.0))", "f(x,complex('nan'))",)),
    ("nested func default", """
x=np.ones(2); k=3
def f(x):
    def g(y,n=k): return y*n
    return g(x), g
""", ("f(x)[0]", "k=5", "f(x)[0]", "f(x)[1](x)",)),
    ("class in func", """
x=np.ones(2)
def f(x):
    class A:
        k=2
        def m(self,y): return y*self.k
    return A().m(x), A.__name__
""", ("f(x)", "f(x)",)),
    ("lambda list", """
x=np.ones(2)
def f(x):
    fs=[lambda y,i=i: y*i for i in range(3)]
    return [g(x) for g in fs], [ (lambda: i)() for i in range(3)]
""", ("f(x)",)),
    ("walrus comp", """
x=np.arange(4.)
def f(x): return [y for v in x if (y:=v*2)>2]
""", ("f(x)",)),
    ("inplace op list arr", """
x=np.ones(2); l=[1,2]
def f(x,l):
    l+=x
    return l
""", ("f(x,l)", "l",)),
    ("dict merge update", """
d={'a':1}; x=np.ones(2)
def f(x,d):
    d|={'b':x}
    d.update(c=3)
    return d.pop('a',None), d, {**d,'z':1}
""", ("f(x,d)", "f(x,d)",)),
    ("dict of arrays setdefault", """
d={}; x=np.ones(2)
def f(x,d):
    d.setdefault('k',[]).append(x*2)
    return len(d['k'])
""", ("f(x,d)", "f(x,d)", "f(x,d)", "d",)),
    ("del item", """
d={'a':1,'b':2}; l=[1,2,3]; x=np.ones(2)
def f(x,d,l):
    del d['a']; del l[0]
    return x*len(d)*len(l)
""", ("f(x,d,l)", "d", "l", "f(x,d,l)",)),
    ("str join etc", """
x=np.ones(2)
def f(x): return ','.join(str(v) for v in x.shape), f'{x.shape} {x.dtype} {x.ndim:03d}'
""", ("f(x)", "f(x[None])",)),
    ("print array", """
x=np.ones(2)
def f(x):
    print(x, x*2, sep='|')
    print(f'{x.sum():.2f}')
    return x
""", ("f(x)", "f(x+1)",)),
    ("np.float64 vs float", """
x=np.ones(2,np.float32)
def f(x,s): return x*s, x+s, s*2, type(s).__name__
""", ("f(x,2.0)", "f(x,np.float64(2))", "f(x,np.float32(2))", "f(x,np.int64(2))", "f(x,2)", "f(x,np.float64(3))",
        "f(x,3.0)", "f(x,4.0)",)),
    ("array 0d", """
def f(a,b): return a*b, a+1, a[()], a.shape, float(b)
""", ("f(np.array(2.0),np.array(3.0))", "f(np.array(2),np.array(3.0))", "f(np.array(2.0),np.array(5.0))",)),
    ("big-endian mix", """
a=np.arange(3,dtype='>i4')
def f(a): return a+1, a.copy(), a[1:], a.sum(), a.astype('<i4'), a.dtype
""", ("f(a)", "f(a.astype('<i4'))",)),
    ("swapaxes write", """
x=np.zeros((2,3))
def f(x):
    v=x.swapaxes(0,1)
    v[0]=1
    np.fill_diagonal(x,7)
    x.flat[1]=3
    return v
""", ("f(x)", "f(x)",)),
    ("overlap out", """
x=np.arange(8.)
def f(a,b):
    np.multiply(a,2,out=b)
    return a+b
""", ("f(x[:4],x[4:])", "f(x[:4],x[2:6])", "f(x[:4],x[:4])", "f(x[2:6],x[:4])",)),
    ("views overlap args 2d", """
x=np.arange(16.).reshape(4,4)
def f(a,b):
    a+=b
    return b.sum()
""", ("f(x,x.T)", "f(x[:2],x[2:])", "f(x,x[::-1])", "f(x[:, :2],x[:,2:])", "f(x[0],x[1])",)),
    ("dtype views alias", """
x=np.arange(4.)
def f(a,b):
    a[0]=1e10
    return b+1
""", ("f(x,x.view('i8'))", "f(x,np.zeros(4,'i8'))", "f(x,x.view('i4'))",)),
    ("isinstance abc registered", """
import collections.abc
x=np.ones(2)
class A: pass
a=A()
def f(x): return x*isinstance(a,collections.abc.Sequence)
""", ("f(x)", "collections.abc.Sequence.register(A)", "f(x)",)),
    ("isinstance abc by method", """
import collections.abc
x=np.ones(2)
class A: pass
a=A()
def f(x): return x*isinstance(a,collections.abc.Sized)*isinstance(A(),collections.abc.Hashable)
""", ("f(x)", "A.__len__=lambda s: 1", "f(x)", "A.__hash__=None", "f(x)",)),
]
# fmt: on
