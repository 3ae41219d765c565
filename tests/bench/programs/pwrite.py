"""pwrite BYTES MEGABYTES PATH: a file written in pieces by os.pwrite, and read by os.preadv."""

import os
import sys

nbytes, total, path = int(sys.argv[1]), int(sys.argv[2]) << 20, sys.argv[3]
data = bytearray(nbytes)
descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
for at in range(0, total, nbytes):
    os.pwrite(descriptor, data, at)
for at in range(0, total, nbytes):
    os.preadv(descriptor, [data], at)
os.unlink(path)
