import multiprocessing
import os
import subprocess
import threading

thread = threading.Thread(target=print, args="x")
thread.start()
thread.join()
print(subprocess.run(["sh", "-c", "kill -9 $$"], check=False).returncode)
print(multiprocessing.get_context("fork").Pool(2).map(abs, [-1, 2]), flush=True)
os._exit(4)
