import subprocess
import sys

program, *each = sys.argv[1:]
print([subprocess.run([program, word], stdout=subprocess.PIPE, check=False).returncode for word in each])
