"""Programs whose answers hang on a corner of Python's or NumPy's rules: casts, indices, loops, classes, sizes."""

from __future__ import annotations

# fmt: off
PROGRAMS: list[tuple[str, str, tuple[str, ...]]] = [
    ("list iadd", """
class R:
  def __radd__(self,o): return 'r'
x=np.ones(2); l=[1,2]
def f(x,l):
    m=list(l)
    m+=x
    n=list(l)
    n+=R()
    l+=(3,)
    return l,m,n
""", ("f(x,l)", "f(x,l)",)),
    ("set ior", """
s={1}; x=np.ones(2)
def f(x,s):
    s|={2}
    s-={1}
    return x*len(s)
""", ("f(x,s)", "s", "f(x,s)",)),
    ("mask size", """
x=np.arange(6.)
def f(x):
    y=x[x>2]
    return y.mean(), y*2, len(y), y.sum(), np.median(y)
""", ("f(x)", "f(x*0)", "f(x-10)", "f(x+10)",)),
    ("nanmean", """
x=np.arange(6.)
def f(x): return np.nanmean(x), np.nanmax(x), np.nanstd(x)
""", ("f(x)", "f(x*np.nan)", "f(x*np.nan)",)),
    ("ufunc where out", """
x=np.arange(6.)
def f(x):
    o=np.zeros(6)
    np.divide(x,x,out=o,where=x>2)
    np.add(x,1,x,where=x>3)
    return o, x, np.sqrt(-x, where=x<0, out=o)
""", ("f(x)", "f(x)",)),
    ("astype nan", """
f = lambda x: (x.astype('i4'), x.astype('u1'), x.astype('i8'), x.astype(bool), x.astype('f2'))
""", ("f(np.array([1.5,-2.5]))", "f(np.array([np.nan,1e30,-1.0]))",)),
    ("int div", """
f = lambda a,b: (a//b, a%b, np.divmod(a,b), a/b, np.fmod(a,b), a**abs(b))
""", ("f(np.array([7,-7]),np.array([2,-2]))", "f(np.array([7,-7]),np.array([0,3]))",
        "f(np.array([7,-7],'i1'),np.array([-1,3],'i1'))", "f(np.array([-128,-7],'i1'),np.array([-1,3],'i1'))",)),
    ("shifts", """
f = lambda a,b: (a<<b, a>>b)
""", ("f(np.array([7,-7]),np.array([2,1]))", "f(np.array([7,-7]),np.array([70,-1]))",
        "f(np.array([7,9],'u1'),np.array([8,1],'u1'))",)),
    ("minmax nan0", """
f = lambda x: (x.max(), x.min(), np.maximum(x,x[::-1]), np.fmin(x,0), x.argmin(), np.sort(x), x.clip(-1,1))
""", ("f(np.array([0.0,-0.0]))", "f(np.array([-0.0,0.0]))", "f(np.array([np.nan,1,-0.0]))",
        "f(np.array([1,np.nan],'f4'))",)),
    ("bool arith", """
f = lambda a: (a+a, a*a, ~a, a&True, a|False, a^a, a.sum(), a.mean(), a.astype(int)-1, a*2, a*2.0, a/2,
    np.logical_not(a), a==1)
""", ("f(np.array([True,False]))",)),
    ("compare mixed", """
f = lambda a,b: (a<b, a==b, a!=b, a>=b)
""", ("f(np.array([1,2**63-1]),np.array([1.0,2.0**63]))", "f(np.array([1,2],'u8'),np.array([-1,2]))",
        "f(np.array([1,2],'u8'),-1)", "f(np.array([1,2],'i1'),1000)", "f(np.ones(3),None)", "f(np.ones(3),'a')",)),
    ("index kinds", """
x=np.arange(24.).reshape(4,6)
f=lambda x,i: x[i]
""", ("f(x,1)", "f(x,(1,2))", "f(x,slice(None,None,-1))", "f(x,(slice(1,3),[0,1]))",
        "f(x,[True,False,True,False])", "f(x,np.array([True,False,True,False]))",
        "f(x,(np.array([0,1]),np.array([2,3])))", "f(x,np.newaxis)", "f(x,...)", "f(x,(...,0))",
        "f(x,(None,0,...,None))", "f(x,([0,1],slice(None),None))", "f(x,())", "f(x,np.int64(1))", "f(x,True)",
        "f(x,(slice(None),-7))", "f(x,([[0],[1]],[2,3]))", "f(x,x>5)", "f(x,np.array(1))", "f(x,1.0)", "f(x,'a')",
        "f(x,[])", "f(x,[0,9])", "f(x,(0,0,0))",)),
    ("index write kinds", """
y=np.arange(24.).reshape(4,6)
def f(i,v):
    x=np.arange(24.).reshape(4,6)
    x[i]=v
    return x
""", ("f(1,2.0)", "f((1,2),5)", "f(slice(None),np.arange(6.))", "f(y>5,0)",
        "f([0,0],np.arange(12.).reshape(2,6))", "f((slice(None),[1,1]),7)",
        "f(np.array([True,False,True,False]),np.ones(6))", "f(...,3)", "f((0,...),np.ones(7))",
        "f(y>5,np.ones(3))", "f([7],1)", "f((),4)", "f(0,'a')", "f(0,None)", "f(0,1j)", "f(0,[1,2])",)),
    ("inplace dtype", """
def f(x,v):
    x+=v
    x*=2
    return x
""", ("f(np.ones(2,'i4'),1)", "f(np.ones(2,'i4'),1.5)", "f(np.ones(2,'f4'),np.float64(1.5))",
        "f(np.ones(2,'u1'),-1)", "f(np.ones(2,'u1'),np.int64(-1))", "f(np.ones(2,'i1'),300)",
        "f(np.ones(2,bool),True)", "f(np.ones(2,'f4'),1j)", "f(np.ones(2),np.ones((2,2)))",)),
    ("scalar inplace", """
def f(x,v):
    s=x.sum()
    s+=v
    t=x[0]
    t*=2
    return s,t,x
""", ("f(np.ones(2),1)", "f(np.ones(2,'i1'),300)", "f(np.ones(2,'i1'),1.5)",)),
    ("loop accum scalar", """
def f(x):
    s=0
    m=0.0
    for v in x:
        s+=v
        m=max(m,v)
    return s,m,type(s).__name__,type(m).__name__
""", ("f(np.arange(5.))", "f(np.arange(5))", "f(np.array([],float))", "f(np.arange(5,dtype='f4'))",
        "f(np.arange(300,dtype='u1'))",)),
    ("loop nested idx", """
def f(a):
    n,m=a.shape
    out=np.zeros_like(a)
    for i in range(1,n-1):
        for j in range(1,m-1):
            out[i,j]=(a[i-1,j]+a[i+1,j]+a[i,j-1]+a[i,j+1])/4
    return out
""", ("f(np.arange(30.).reshape(5,6))", "f(np.arange(30.).reshape(6,5))", "f(np.arange(30))",
        "f(np.arange(30).reshape(5,6))", "f(np.zeros((1,1)))",)),
    ("loop break cont", """
def f(a,t):
    c=0
    for i in range(len(a)):
        if a[i]<0: continue
        if a[i]>t: break
        c+=1
    else:
        c=-c
    return c,i
""", ("f(np.array([1.,-1,2,9,3]),5)", "f(np.array([1.,-1,2]),5)", "f(np.array([1.]),0)", "f(np.zeros(0),1)",)),
    ("loop idx error", """
def f(a,n):
    for i in range(n):
        a[i]=a[i]+1
    return a
""", ("f(np.zeros(5),5)", "f(np.zeros(5),7)", "x=np.zeros(5)", "f(x,8)", "x", "f(x,-1)",)),
    ("loop int grow", """
def f(n):
    a,b=0,1
    for _ in range(n): a,b=b,a+b
    return a
""", ("f(10)", "f(90)", "f(100)", "f(300)",)),
    ("loop str", """
def f(x):
    s=''
    for v in x: s+=str(v)
    return s, x*2
""", ("f(np.arange(3.))", "f(np.arange(3))",)),
    ("while array", """
def f(x):
    n=0
    while x[0]>1:
        x=x/2
        n+=1
    return x,n
""", ("f(np.array([100.,1]))", "f(np.array([0.,1]))",)),
    ("dict of lambda state", """
st={'n':0}
def tick():
    st['n']+=1
    return st['n']
x=np.ones(2)
def f(x): return x*tick()+tick()
""", ("f(x)", "f(x)", "f(x)", "f(x)", "st",)),
    ("property setter global", """
class A:
  def __init__(self): self._v=1; self.log=[]
  @property
  def v(self): self.log.append('g'); return self._v
  @v.setter
  def v(self,n): self.log.append(n); self._v=n
a=A(); x=np.ones(2)
def f(x):
    a.v=a.v+1
    return x*a.v
""", ("f(x)", "f(x)", "f(x)", "a",)),
    ("slots obj", """
class A:
  __slots__=('v',)
a=A(); a.v=1; x=np.ones(2)
def f(x):
    a.v=a.v+1
    return x*a.v
""", ("f(x)", "f(x)", "f(x)", "f(x)", "a.v", "del a.v", "f(x)",)),
    ("getattr dyn", """
class A:
  pass
a=A(); a.p=1; a.q=2; x=np.ones(2)
def f(x,n): return x*getattr(a,n,5)
""", ("f(x,'p')", "f(x,'q')", "f(x,'r')", "a.r=9", "f(x,'r')",)),
    ("cls call counter", """
class A:
  n=0
  def __init__(self): type(self).n+=1; self.k=A.n
x=np.ones(2)
def f(x): return x*A().k+A().k
""", ("f(x)", "f(x)", "f(x)", "A.n",)),
    ("new override", """
class A:
  def __new__(cls,v):
    o=object.__new__(cls); o.v=v*2; return o
x=np.ones(2)
def f(x): return x*A(3).v
""", ("f(x)", "A.__new__=lambda c,v: object.__new__(c)", "f(x)",)),
    ("descriptor", """
class D:
  def __get__(self,o,t=None): return o.b*2
class A: k=D()
a=A(); a.b=3; x=np.ones(2)
def f(x): return x*a.k
""", ("f(x)", "a.b=5", "f(x)", "D.__get__=lambda s,o,t=None: 1", "f(x)", "D.__set__=lambda s,o,v: None", "f(x)",)),
    ("eq objects", """
class A:
  def __init__(self,v): self.v=v
  def __eq__(self,o): return self.v==o.v
a=A(1); x=np.ones(2)
def f(x,b): return x*(a==b), a in [b], [b].index(a) if a==b else -1
""", ("f(x,A(1))", "f(x,A(2))", "f(x,a)", "a.v=2", "f(x,A(2))",)),
    ("sorted key", """
x=np.ones(2)
def f(x,l): return [x*v for v in sorted(l,key=lambda p:-p[1])[0]], sorted(l,reverse=True)
""", ("f(x,[(1,2),(3,4)])", "f(x,[(3,4),(1,9)])", "f(x,[(1,2.5),(3,1)])",)),
    ("zip strict", """
x=np.ones(2)
def f(x,a,b): return [x*p*q for p,q in zip(a,b,strict=True)]
""", ("f(x,[1,2],[3,4])", "f(x,[1,2],[3])",)),
    ("chained cmp", """
x=np.ones(2)
def f(x,a): return x if 0<a<5 else -x
""", ("f(x,3)", "f(x,7)", "f(x,-1)", "f(x,4)",)),
    ("np scalar hash", """
d={1:'a',2.0:'b'}; x=np.ones(2)
def f(x,k): return d[k], x
""", ("f(x,1)", "f(x,np.int64(1))", "f(x,True)", "f(x,np.float64(2))", "f(x,2)",)),
    ("seq mult sym", """
x=np.ones(2)
def f(x,n): return [0]*n, 'ab'*n, (1,)*n, x*n, list(range(n))
""", ("f(x,2)", "f(x,3)", "f(x,4)", "f(x,-1)",)),
    ("sym in f-string", """
x=np.ones(2)
def f(x,n):
    return (f'{n:03d} {n!r} {n}', str(n), x*n, {n: 1}, (n,), [n], n==4, n in (3,4), divmod(n,2),
        bin(n), n.bit_length())
""", ("f(x,2)", "f(x,3)", "f(x,4)", "f(x,5)",)),
    ("shape prod", """
def f(x):
    return (x.reshape(-1, x.shape[-1]), x.size//2, np.prod(x.shape), sum(x.shape),
        x.shape[0]*x.shape[1]>10, x.shape[::-1], x.reshape(x.shape[1],x.shape[0]))
""", ("f(np.ones((3,4)))", "f(np.ones((5,4)))", "f(np.ones((5,6)))", "f(np.ones((2,2)))",)),
    ("half split", """
def f(x):
    n=len(x)//2
    return x[:n]+x[n:2*n], x[::2], x[-n:], np.split(x,[n])
""", ("f(np.arange(4.))", "f(np.arange(6.))", "f(np.arange(7.))", "f(np.arange(9.))", "f(np.arange(1.))",
        "f(np.arange(0.))", "f(np.arange(8.))",)),
    ("pad roll", """
def f(x,k):
    return (np.roll(x,k), np.pad(x,k), x[k:], np.tile(x,k), np.repeat(x,k), np.arange(k),
        np.zeros(k), np.eye(k), np.linspace(0,1,k))
""", ("f(np.arange(4.),2)", "f(np.arange(4.),3)", "f(np.arange(4.),4)", "f(np.arange(4.),1)",
        "f(np.arange(4.),0)",)),
    ("linalg", """
f = lambda a,b: (np.linalg.solve(a,b), np.linalg.inv(a), np.linalg.det(a))
""", ("f(np.eye(2)*2,np.ones(2))", "f(np.zeros((2,2)),np.ones(2))", "f(np.eye(3),np.ones(3))",)),
    ("ctx errstate", """
def f(x):
    with np.errstate(all='ignore'):
        y=np.log(x)
    return y+np.log(x)
""", ("f(np.array([1.,2]))", "f(np.array([0.,-1]))",)),
    ("warn filter", """
import warnings
def f(x):
    warnings.warn('mine')
    return x*2
""", ("f(np.ones(2))", "f(np.ones(2))",)),
    ("float conv raise", """
f = lambda x: (float(x), x*2)
""", ("f(np.ones(1))", "f(np.array(2.0))", "f(np.ones(2))",)),
    ("bool conv raise", """
f = lambda x: 1 if x else 2
""", ("f(np.ones(1))", "f(np.array(0.0))", "f(np.ones(2))", "f(np.zeros(0))",)),
    ("copy deep", """
import copy
x=np.ones(2); l=[x]
f=lambda x,l: (copy.copy(l), copy.deepcopy(l), x*2)
""", ("f(x,l)",)),
    ("half floats", """
f = lambda x: (x * 2, x.sum(), np.exp(x), x + np.float32(1), x.mean(), x[::2] * 3)
""", ("f(np.arange(5, dtype='f2'))",)),
]
# fmt: on
