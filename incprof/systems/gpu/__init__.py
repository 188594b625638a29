"""GPUs: what `record --gpu` recorded of kernels, copies and waits, summed by time and by launching call path."""
