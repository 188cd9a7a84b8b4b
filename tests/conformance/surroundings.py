"""Programs whose answers hang on what is around them: cells, defaults, held arrays, caches, contexts, statements."""

from __future__ import annotations

# fmt: off
PROGRAMS: list[tuple[str, str, tuple[str, ...]]] = [
    ("warn policy error", """
import warnings
x=np.ones(2); z=np.zeros(2)
def f(x,z):
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        return x/z
""", ("f(x,x)", "f(x,z)",)),
    ("iter of arg twice", """
x=np.ones(2)
def f(x,l):
    it=iter(l)
    a=next(it)
    return x*a+sum(it), list(it)
""", ("f(x,[1,2,3])", "f(x,(4,5))", "f(x,{7:1,8:2})",)),
    ("del slice list while iter", """
x=np.ones(2); l=[1,2,3,4]
def f(x,l):
    for v in l:
        if v%2: l.remove(v)
    return x*len(l), l
""", ("f(x,l)", "f(x,[1,1,2])",)),
    ("dict change while iter", """
x=np.ones(2); d={'a':1}
def f(x,d):
    for k in d:
        d[k+'x']=1
    return x
""", ("f(x,d)", "d",)),
    ("kwdefaults obj", """
x=np.ones(2); l=[1]
def f(x,*,k=l): return x*len(k)
""", ("f(x)", "l.append(2)", "f(x)", "f.__kwdefaults__['k']=[1,2,3,4]", "f(x)",)),
    ("helper kwdefaults inplace", """
x=np.ones(2)
def g(x,*,k=1): return x*k
def f(x): return g(x)
""", ("f(x)", "g.__kwdefaults__['k']=7", "f(x)", "g.__kwdefaults__={}", "f(x)", "g.__kwdefaults__={'k':3}",
        "f(x)",)),
    ("cell contents", """
x=np.ones(2)
def mk(k):
    def f(x): return x*k
    return f
f=mk(2)
""", ("f(x)", "f.__closure__[0].cell_contents=5", "f(x)", "f.__closure__[0].cell_contents=np.ones(2)*7", "f(x)",
        "f.__closure__[0].cell_contents=[1,2]", "f(x)",)),
    ("cell del", """
x=np.ones(2)
def mk():
    k=2
    def f(x): return x*k
    def d():
        nonlocal k
        del k
    return f,d
f,d=mk()
""", ("f(x)", "d()", "f(x)",)),
    ("array resize outside", """
x=np.arange(4.)
def f(x): return x*2+x.shape[0]
""", ("f(x)", "x.shape=(2,2)", "f(x)", "x.shape=(4,)", "f(x)",)),
    ("global arr shape", """
w=np.arange(4.); x=np.ones(4)
def f(x): return x+w
""", ("f(x)", "w.shape=(4,1)", "f(x)", "w.shape=(4,)", "f(x)",)),
    ("held arr shape", """
class C: w=np.arange(4.)
x=np.ones(4)
def f(x): return x+C.w, C().w*2
""", ("f(x)", "C.w.shape=(4,1)", "f(x)", "C.w[0]=9", "f(x)",)),
    ("strides change", """
x=np.arange(6.)
def f(x): return x.reshape(-1)*2, x.flags.c_contiguous, x.strides
""", ("f(x)", "f(x[::-1])", "f(x[::2])", "f(x.reshape(2,3).T)",)),
    ("flags", """
x=np.arange(6.).reshape(2,3)
def f(x): return x.flags.writeable, x.flags.owndata, x.base is None, x.nbytes, x.itemsize, x.data.contiguous
""", ("f(x)", "f(x.copy())", "f(x.T)",)),
    ("base attr", """
x=np.arange(6.)
def f(x):
    y=x[1:]
    return y.base is x, y.base, (x*2)[1:].base.shape
""", ("f(x)", "f(x[::2])",)),
    ("object attr arr alias local", """
class A: pass
a=A(); a.x=np.ones(3)
def f(a,y):
    y[0]=5
    return a.x*2
""", ("f(a,np.zeros(3))", "f(a,a.x)", "f(a,a.x[::-1])", "f(a,np.zeros(3))",)),
    ("global alias local", """
w=np.ones(3)
def f(y):
    y[0]=5
    return w*2
""", ("f(np.zeros(3))", "f(w)", "f(w[1:])", "w=np.zeros(3)", "f(w)", "f(np.ones(3))",)),
    ("list in global alias", """
l=[np.ones(3)]
def f(y):
    y+=1
    return l[0]*2, len(l)
""", ("f(np.zeros(3))", "f(l[0])", "l[0]=np.zeros(3)", "f(np.ones(3))",)),
    ("dict values alias", """
d={'a':np.ones(3),'b':np.zeros(3)}
def f(d):
    d['a']+=1
    return d['b']*2
""", ("f(d)", "d['b']=d['a']", "f(d)", "d['b']=d['a'][::-1]", "f(d)",)),
    ("same array twice in list", """
x=np.ones(3)
def f(l):
    for a in l: a+=1
    return sum(l)
""", ("f([x,np.zeros(3)])", "f([x,x])", "f([x,x,x])", "f([x,x[::-1]])",)),
    ("ret alias of arg list", """
x=np.ones(3)
def f(l):
    m=l
    m.append(x)
    return m, m is l
""", ("f([1])", "f([x])",)),
    ("nested tuple of lists", """
t=([1],[2]); x=np.ones(2)
def f(x,t):
    a,b=t
    a.append(len(b))
    return x*len(a), t
""", ("f(x,t)", "f(x,(t[0],t[0]))", "f(x,t)",)),
    ("set of tuple", """
s={(1,2),(3,4)}; x=np.ones(2)
def f(x,s): return x*((1,2) in s), len(s), sorted(s)
""", ("f(x,s)", "s.add((0,0))", "f(x,s)",)),
    ("frozenset const", """
x=np.ones(2)
def f(x,s): return x*(s in {'a','b'}), s in ('q','a')
""", ("f(x,'a')", "f(x,'q')",)),
    ("float keys", """
d={0.5:1,1.5:2}; x=np.ones(2)
def f(x,k): return x*d[k]
""", ("f(x,0.5)", "f(x,1.5)", "f(x,0.5)", "f(x,2.5)",)),
    ("int keys sym", """
d={n: n*n for n in range(10)}; l=list(range(10)); x=np.ones(2)
def f(x,k): return x*d[k]+l[k]
""", ("f(x,2)", "f(x,3)", "f(x,4)", "f(x,5)", "f(x,0)", "f(x,1)", "f(x,11)",)),
    ("sym compare chain", """
x=np.ones(12)
def f(x,n):
    if n>5: return x[:n]
    if n%2==0: return x[n:]
    return x[::n]
""", ("f(x,3)", "f(x,4)", "f(x,6)", "f(x,7)", "f(x,8)", "f(x,2)", "f(x,5)", "f(x,1)",)),
    ("sym slicing", """
x=np.arange(20.)
def f(x,a,b,c): return x[a:b:c]*2, x[-a:], x[:-b], x[a-b:]
""", ("f(x,2,9,2)", "f(x,3,10,3)", "f(x,5,5,1)", "f(x,9,2,-1)", "f(x,-3,100,2)", "f(x,30,40,2)",)),
    ("bool index list", """
x=np.arange(3.)
def f(x,m): return x[m], x[list(m)]
""", ("f(x,(True,False,True))", "f(x,[True,False,True])", "f(x,[False]*3)", "f(x,[0,1])",)),
    ("np.str", """
x=np.ones(2)
def f(x,k): return {'a':x,'b':x*2}[k]
""", ("f(x,'a')", "f(x,np.str_('b'))", "f(x,'b')", "f(x,'c')",)),
    ("default mutable array", """
def f(x,acc=np.zeros(2)):
    acc+=x
    return acc
""", ("f(np.ones(2))", "f(np.ones(2))", "f(np.ones(2))", "f(np.ones(2),np.zeros(2))",)),
    ("lambda default capture", """
fs=[lambda x,i=i: x*i for i in range(3)]; x=np.ones(2)
def f(x,i): return fs[i](x)
""", ("f(x,0)", "f(x,1)", "f(x,2)", "f(x,1)", "fs[1]=fs[2]", "f(x,1)",)),
    ("partial method", """
import functools
class A:
  def __init__(s): s.k=2
  def m(s,x,n): return x*s.k*n
  p=functools.partialmethod(m,n=3)
a=A(); x=np.ones(2)
def f(x): return a.p(x)
""", ("f(x)", "a.k=5", "f(x)",)),
    ("cached property", """
import functools
class A:
  n=0
  @functools.cached_property
  def p(s):
    A.n+=1
    return 7
a=A(); x=np.ones(2)
def f(x): return x*a.p
""", ("f(x)", "f(x)", "A.n", "del a.p", "f(x)", "A.n",)),
    ("lru", """
import functools
n=[0]
@functools.lru_cache(None)
def g(k):
    n[0]+=1
    return k*2
x=np.ones(2)
def f(x,k): return x*g(k)
""", ("f(x,1)", "f(x,1)", "f(x,2)", "n", "g.cache_clear()", "f(x,1)", "n",)),
    ("singledispatch", """
import functools
@functools.singledispatch
def g(v): return 1
@g.register
def _(v: int): return 2
x=np.ones(2)
def f(x,v): return x*g(v)
""", ("f(x,1)", "f(x,'a')", "g.register(str,lambda v: 9)", "f(x,'a')",)),
    ("contextvar", """
import contextvars
cv=contextvars.ContextVar('cv',default=1); x=np.ones(2)
def f(x): return x*cv.get()
""", ("f(x)", "cv.set(5)", "f(x)",)),
    ("os environ", """
import os
os.environ['JM_T']='1'
x=np.ones(2)
def f(x): return x*int(os.environ['JM_T'])
""", ("f(x)", "os.environ['JM_T']='5'", "f(x)", "os.environ.pop('JM_T')",)),
    ("time", """
import time
x=np.ones(2)
def f(x): return x*(time.time()>0), time.perf_counter() is None
""", ("f(x)", "f(x)",)),
    ("threading local", """
import threading
tl=threading.local(); tl.k=1; x=np.ones(2)
def f(x): return x*tl.k
""", ("f(x)", "tl.k=5", "f(x)",)),
    ("type annotations", """
x: np.ndarray=np.ones(2)
def f(x: np.ndarray, n: int=2) -> np.ndarray:
    y: float=1.5
    z: int
    return x*y*n
""", ("f(x)", "f.__annotations__ is not None",)),
    ("star expr", """
x=np.ones(2)
def f(x,l):
    a,*b=l
    (c,d),e=[(1,2),3]
    return x*a, b, [*b,*l], {*b}, max(*l)
""", ("f(x,[3,1,2])", "f(x,(1,2))",)),
    ("assert", """
x=np.ones(2)
def f(x,n):
    assert n>0, f'bad {n}'
    return x*n
""", ("f(x,1)", "f(x,-1)", "f(x,3)", "f(x,0)",)),
    ("match", """
x=np.ones(2)
def f(x,c):
    match c:
        case {'k':v}: return x*v
        case [a,b]: return x*a+b
        case int(n): return x-n
        case _: return x
""", ("f(x,{'k':3})", "f(x,[1,2])", "f(x,5)", "f(x,'s')", "f(x,{'k':4,'z':1})", "f(x,6)", "f(x,True)",)),
    ("exception obj", """
x=np.ones(2)
def f(x,n):
    try:
        if n: raise KeyError('k',n)
    except (KeyError,TypeError) as e:
        return x, e.args, type(e).__name__
    return x*2
""", ("f(x,0)", "f(x,1)", "f(x,2)",)),
    ("nested finally order", """
log=[]; x=np.ones(2)
def f(x,n):
    for i in range(3):
        try:
            if i==n: continue
            if i>n: break
            log.append(i)
        finally:
            log.append('f')
    return x*len(log)
""", ("f(x,1)", "f(x,5)", "log",)),
    ("gen send", """
def g():
    t=0
    while True:
        v=yield t
        t+=v or 1
x=np.ones(2); it=g(); next(it)
def f(x): return x*it.send(3)
""", ("f(x)", "f(x)", "f(x)", "next(it)",)),
    ("async none", """
x=np.ones(2)
def f(x):
    async def h(): return 1
    c=h()
    c.close()
    return x*2
""", ("f(x)",)),
    ("numpy print opts", """
x=np.ones(2)
def f(x):
    with np.printoptions(precision=2):
        return str(x/3)
""", ("f(x)",)),
    ("matmul out", """
a=np.arange(4.).reshape(2,2); o=np.zeros((2,2))
def f(a,o):
    np.matmul(a,a,out=o)
    np.dot(a,o,out=a)
    return o
""", ("f(a,o)", "f(a,a)", "f(a,a.T)",)),
    ("einsum paths", """
a=np.arange(8.).reshape(2,2,2)
def f(a):
    return (np.einsum('ijk,ikl->ijl',a,a), np.einsum('iij',a), np.tensordot(a,a,1), np.kron(a[0],a[1]),
        np.outer(a[0],a[1]))
""", ("f(a)", "f(a.transpose(2,1,0))",)),
    ("searchsorted etc", """
x=np.array([1.,3,2])
def f(x):
    return (np.searchsorted(np.sort(x),2), np.argsort(-x,kind='stable'), np.unique(x),
        np.bincount(x.astype(int)), np.histogram(x,3), np.interp(1.5,[1,2],[3,4]), np.convolve(x,x),
        np.gradient(x), np.trapezoid(x), np.cross(x,x[::-1]), np.polyfit(x,x,1), np.polyval([1,2],x))
""", ("f(x)", "f(x*2)",)),
    ("vectorize", """
def f(x):
    return (np.vectorize(lambda v: v*2 if v>1 else 0.0)(x), np.apply_along_axis(np.sum,0,x),
        np.fromiter((v for v in x.ravel()),float), np.piecewise(x,[x>1],[lambda v:v*2,0]))
""", ("f(np.arange(4.).reshape(2,2))",)),
]
# fmt: on
