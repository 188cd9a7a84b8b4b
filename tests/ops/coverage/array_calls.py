"""Methods, attributes and operators of arrays in the coverage table, and how its calls are written down."""

from __future__ import annotations

__all__ = ["ATTRIBUTES", "METHODS", "OPERATORS", "rows"]


def rows(text: str) -> dict[str, tuple[str, ...]]:
    """``name: call; call`` line by line."""
    pairs = (line.partition(": ") for line in text.strip().splitlines())
    return {name.strip(): tuple(call.strip() for call in calls.split(";;")) for name, _, calls in pairs}


METHODS = rows("""
all: m.all()
any: m.any(axis=0)
argmax: x.argmax(axis=1)
argmin: x.argmin()
argpartition: v.argpartition(2)
argsort: x.argsort()
astype: x.astype(np.float32)
byteswap: x.byteswap()
choose: j.choose((v[:4], w[:4]))
clip: x.clip(-0.5, 0.5)
compress: x.compress([True, False, True, True], axis=0)
conj: c.conj()
conjugate: c.conjugate()
copy: x.copy()
cumprod: x.cumprod()
cumsum: x.cumsum(axis=0)
diagonal: s.diagonal()
dot: s.dot(s)
fill: x.fill(1.5)
flatten: x.flatten()
getfield: x.getfield(np.int32, 4)
item: x.item(0)
max: x.max(axis=0)
mean: x.mean(axis=1)
min: x.min()
nonzero: m.nonzero()
partition: v.partition(2)
prod: x.prod()
put: x.put([0, 2], [1.0, 2.0])
ravel: x.ravel()
repeat: x.repeat(2)
reshape: x.reshape(2, 6)
resize: np.arange(6).resize((2, 2))
round: x.round(1)
searchsorted: v.searchsorted(w)
setfield: x.setfield(1, np.int32, 4)
setflags: x.copy().setflags(write=False)
sort: x.sort()
squeeze: x[:1].squeeze()
std: x.std(axis=0)
sum: x.sum(axis=1)
swapaxes: x.swapaxes(0, 1)
take: x.take(j, axis=0)
to_device: x.to_device("cpu")
tobytes: x.tobytes()
tolist: x.tolist()
trace: s.trace()
transpose: x.transpose()
var: x.var()
view: x.view(np.int64)
""")

ATTRIBUTES = rows("""
T: x.T
base: x.T.base
device: x.device
dtype: x.dtype
flags: x.flags.c_contiguous
flat: x.flat[3]
imag: c.imag
itemsize: x.itemsize
mT: x.mT
nbytes: x.nbytes
ndim: x.ndim
real: c.real
shape: x.shape
size: x.size
strides: x.strides
""")

OPERATORS = rows("""
__abs__: abs(x)
__add__: x + y
__and__: k & 3
__bool__: bool(v[:1] > 0)
__complex__: complex(c[0, 0])
__contains__: 0.5 in x
__copy__: copy.copy(x)
__deepcopy__: copy.deepcopy(x)
__divmod__: divmod(x, 0.5)
__eq__: x == y
__float__: float(v[0])
__floordiv__: x // 0.5
__ge__: x >= y
__getitem__: x[1:, ::2] ;; x[m] ;; x[j % 4] ;; x[1, 2]
__gt__: x > y
__iadd__: x += y
__iand__: k &= 3
__ifloordiv__: x //= 0.5
__ilshift__: k <<= 1
__imatmul__: s @= s
__imod__: x %= 0.5
__imul__: x *= y
__index__: [1, 2, 3, 4, 5, 6][j[0]]
__int__: int(k[0])
__invert__: ~k
__ior__: k |= 1
__ipow__: x **= 2
__irshift__: k >>= 1
__isub__: x -= y
__iter__: [row.sum() for row in x]
__itruediv__: x /= 2.0
__ixor__: k ^= 1
__le__: x <= y
__len__: len(x)
__lshift__: k << 1
__lt__: x < y
__matmul__: s @ s
__mod__: x % 0.5
__mul__: x * y
__ne__: x != y
__neg__: -x
__or__: k | 1
__pos__: +x
__pow__: x ** 2 ;; np.abs(x) ** 1.5
__radd__: 1.0 + x
__rand__: 3 & k
__rdivmod__: divmod(2.5, x)
__rfloordiv__: 2.5 // x
__rlshift__: 1 << j
__rmatmul__: [[1.0, 2.0, 0.0, 1.0]] @ s
__rmod__: 2.5 % x
__rmul__: 2.0 * x
__ror__: 1 | k
__rpow__: 2.0 ** x
__rrshift__: 8 >> j
__rshift__: k >> 1
__rsub__: 1.0 - x
__rtruediv__: 1.0 / x
__rxor__: 1 ^ k
__setitem__: x[1:, 0] = 2.0 ;; x[m] = 0.0 ;; x[j % 4] = 1.0
__sub__: x - y
__truediv__: x / y
__xor__: k ^ 1
""")

# The arguments of the random functions; `rng.` (a Generator) or `np.random.` (the global RandomState) goes before them
