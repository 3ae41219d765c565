# gdb -q -batch -x collective_calls.gdb --args ./collective_calls CALLS, as rank 0: writes to $OUT the number of a call and
# the name of each function of $WATCH that it enters. A line of $WATCH is a name, and its offset in libmpi where the
# library does not export it.
set pagination off
set debuginfod enabled off
handle all nostop noprint pass
handle SIGTRAP stop noprint nopass
python
import os, gdb
out, call = open(os.environ["OUT"], "w"), -1
class Mark(gdb.Breakpoint):
    def stop(self):
        global call
        call = int(gdb.parse_and_eval("(int)$edi"))
        return False
class Function(gdb.Breakpoint):
    def stop(self):
        if call >= 0:
            print(call, self.name, file=out, flush=True)
        return False
gdb.execute("tbreak main")
gdb.execute("run")
Mark("call_mark")
maps = open(f"/proc/{gdb.selected_inferior().pid}/maps")
base = min(int(line.split("-")[0], 16) for line in maps if "libmpi.so" in line)
for line in open(os.environ["WATCH"]):
    name, *offset = line.split()
    Function(f"*{base + int(offset[0], 16):#x}" if offset else name).name = name
gdb.execute("continue")
end
