# Serves one directory by SMB 2: serve.py PORT SHARE DIRECTORY USER; the password comes on the
# standard input. It ends when that closes.
import os
import sys
import threading

from impacket import smbserver
from impacket.ntlm import compute_lmhash, compute_nthash

port, share, directory, user = sys.argv[1:]
password = sys.stdin.readline().rstrip("\n")


def end_with_parent():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()
server = smbserver.SimpleSMBServer(listenAddress="127.0.0.1", listenPort=int(port))
server.setSMB2Support(True)
server.setSMBChallenge("")
server.setLogFile("")
server.addShare(share, directory, "")
server.addCredential(user, 0, compute_lmhash(password), compute_nthash(password))
server.start()
