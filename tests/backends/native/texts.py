"""Kernel texts that several test files use."""

AXPY = """
def kernel(args, lo, hi):
    x, x_step = arg(args, 0), arg(args, 2)
    y, y_step = arg(args, 3), arg(args, 5)
    out, out_step = arg(args, 6), arg(args, 8)
    for i in range(lo, hi):
        value = load_float64(x, i * x_step) * load_float64(y, i * y_step) + 1.0
        store_float64(out, i * out_step, value)
    return 0
"""

# NumPy's order of summation for one contiguous vector: halves above 128, eight accumulators below.
# Halves are cut at multiples of 8, so the tree is walked with an explicit stack.
PAIRWISE_SUM = """
def kernel(args, lo, hi):
    x = arg(args, 0)
    out = arg(args, 3)
    pending = stack(1024)
    partial = stack(1024)
    store_int64(pending, 0, lo)
    store_int64(pending, 8, hi - lo)
    store_int64(pending, 16, 0)
    depth = 1
    values = 0
    while depth > 0:
        depth -= 1
        start = load_int64(pending, depth * 24)
        count = load_int64(pending, depth * 24 + 8)
        done = load_int64(pending, depth * 24 + 16)
        if done == 1:
            values -= 1
            right = load_float64(partial, values * 8)
            left = load_float64(partial, values * 8 - 8)
            store_float64(partial, values * 8 - 8, left + right)
            continue
        if count > 128:
            half = count >> 1
            half -= half % 8
            store_int64(pending, depth * 24 + 16, 1)
            store_int64(pending, depth * 24 + 24, start + half)
            store_int64(pending, depth * 24 + 32, count - half)
            store_int64(pending, depth * 24 + 40, 0)
            store_int64(pending, depth * 24 + 48, start)
            store_int64(pending, depth * 24 + 56, half)
            store_int64(pending, depth * 24 + 64, 0)
            depth += 3
            continue
        if count < 8:
            total = -0.0
            for i in range(start, start + count):
                total += load_float64(x, i * 8)
        else:
            a0 = load_float64(x, start * 8)
            a1 = load_float64(x, start * 8 + 8)
            a2 = load_float64(x, start * 8 + 16)
            a3 = load_float64(x, start * 8 + 24)
            a4 = load_float64(x, start * 8 + 32)
            a5 = load_float64(x, start * 8 + 40)
            a6 = load_float64(x, start * 8 + 48)
            a7 = load_float64(x, start * 8 + 56)
            i = start + 8
            stop = start + count - count % 8
            while i < stop:
                a0 += load_float64(x, i * 8)
                a1 += load_float64(x, i * 8 + 8)
                a2 += load_float64(x, i * 8 + 16)
                a3 += load_float64(x, i * 8 + 24)
                a4 += load_float64(x, i * 8 + 32)
                a5 += load_float64(x, i * 8 + 40)
                a6 += load_float64(x, i * 8 + 48)
                a7 += load_float64(x, i * 8 + 56)
                i += 8
            total = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7))
            while i < start + count:
                total += load_float64(x, i * 8)
                i += 1
        store_float64(partial, values * 8, total)
        values += 1
    store_float64(out, 0, load_float64(partial, 0))
    return 0
"""

# exp(-x * x) on tiles of 1024 elements that stay in the first-level cache
EXP_TILES = """
def kernel(args, lo, hi):
    x, x_step = arg(args, 0), arg(args, 2)
    out, out_step = arg(args, 3), arg(args, 5)
    function, context, auxdata = arg(args, 6), arg(args, 7), arg(args, 8)
    tile = stack(8192)
    data = stack(16)
    dims = stack(8)
    strides = stack(16)
    start = lo
    while start < hi:
        count = hi - start
        if count > 1024:
            count = 1024
        for i in range(count):
            value = load_float64(x, (start + i) * x_step)
            store_float64(tile, i * 8, -value * value)
        store_int64(data, 0, tile)
        store_int64(data, 8, tile)
        store_int64(dims, 0, count)
        store_int64(strides, 0, 8)
        store_int64(strides, 8, 8)
        if call_inner_loop(function, context, data, dims, strides, auxdata) != 0:
            return 10
        for i in range(count):
            store_float64(out, (start + i) * out_step, load_float64(tile, i * 8))
        start += count
    return 0
"""

# one call of a strided inner loop over everything: x and out as they lie
EXP_STRIDED = """
def kernel(args, lo, hi):
    data = stack(16)
    dims = stack(8)
    strides = stack(16)
    store_int64(data, 0, arg(args, 0) + lo * arg(args, 2))
    store_int64(data, 8, arg(args, 3) + lo * arg(args, 5))
    store_int64(dims, 0, hi - lo)
    store_int64(strides, 0, arg(args, 2))
    store_int64(strides, 8, arg(args, 5))
    return call_inner_loop(arg(args, 6), arg(args, 7), data, dims, strides, arg(args, 8)) * 10
"""
