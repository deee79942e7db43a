"""Mounts a file system whose server never answers on the folder given, and waits until its parent ends."""

import ctypes
import os
import struct
import sys
import time

parent = os.getppid()
descriptor = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={descriptor},rootmode=40000,user_id=0,group_id=0".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"hung", sys.argv[1].encode(), b"fuse.hung", 0, options) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
# FUSE_INIT, the one request that is answered, with version 7.31 of the protocol; later ones are left unread
unique = struct.unpack("<IIQ", os.read(descriptor, 135168)[:16])[2]
body = struct.pack("<IIIIHHIIHHI", 7, 31, 0, 0, 12, 12, 4096, 1, 1, 0, 0) + bytes(28)
os.write(descriptor, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
while os.getppid() == parent:
    time.sleep(1)
