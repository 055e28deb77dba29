"""Servers of UDP on every address that is given, one port for each way to behave; says "ready" when they listen."""
import selectors
import socket
import sys

BEHAVIOURS = ["echo", "silent", "empty", "largest", "second", "other", "twice"]
FIRST_PORT = 7001

selector = selectors.DefaultSelector()
for address in sys.argv[1:]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for offset, behaviour in enumerate(BEHAVIOURS):
        server = socket.socket(family, socket.SOCK_DGRAM)
        server.bind((address, FIRST_PORT + offset))
        selector.register(server, selectors.EVENT_READ, (behaviour, address, {}))
print("ready", flush=True)

while True:
    for key, _ in selector.select():
        behaviour, address, seen = key.data
        data, sender = key.fileobj.recvfrom(65536)
        seen[sender] = seen.get(sender, 0) + 1
        if behaviour == "echo":
            key.fileobj.sendto(data, sender)
        elif behaviour == "empty":
            key.fileobj.sendto(b"", sender)
        elif behaviour == "largest":
            key.fileobj.sendto(b"x" * 65507, sender)
        elif behaviour == "second" and seen[sender] > 1:
            key.fileobj.sendto(b"second", sender)
        elif behaviour == "twice":
            key.fileobj.sendto(b"first", sender)
            key.fileobj.sendto(b"next", sender)
        elif behaviour == "other":
            with socket.socket(key.fileobj.family, socket.SOCK_DGRAM) as stranger:
                stranger.bind((address, 0))
                stranger.sendto(b"not mine", sender)
