"""A machine is data: files are read, and machines compared and written, where the kernel is not compiled."""

import json
import subprocess
import sys
from pathlib import Path

XML = """<platform version='4.1'>
<zone id='z' routing='Dijkstra'>
  <host id='a' speed='1Gf'/><host id='b' speed='1Gf' speed_file='b.speed'/>
  <link id='l' bandwidth='1GBps' latency='1us'/><route src='a' dst='b'><link_ctn id='l'/></route>
</zone>
</platform>
"""
TOML = '[topology]\nkind = "dragonfly"\n\n[host]\ncount = 64\ncores = 4\n\n[network]\nmodel = "cm02"\n'
BLOCKED = """
import pkgutil
import sys
from importlib import import_module

sys.modules["smpy.engine._event"] = None

import smpy.platforms
from smpy.platforms.machine import read_machine
from smpy.platforms.machine_json import machine_from_json, machine_to_json

for module in pkgutil.walk_packages(smpy.platforms.__path__, "smpy.platforms."):
    import_module(module.name)
for file in sys.argv[1:]:
    machine = read_machine(file, 1)
    text = machine_to_json(machine)
    assert machine_from_json(text.encode()) == machine
    print(text.replace("\\n", " "))
    try:
        machine.build()
    except ImportError as error:
        print(error)
"""


def test_machines_are_read_compared_and_written_without_the_compiled_kernel(tmp_path: Path) -> None:
    files = [tmp_path / "a.xml", tmp_path / "b.toml"]
    files[0].write_text(XML)
    files[1].write_text(TOML)
    (tmp_path / "b.speed").write_text("1 0.5\n")
    run = subprocess.run([sys.executable, "-c", BLOCKED, *files], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    xml, xml_unbuilt, toml, toml_unbuilt = run.stdout.splitlines()
    assert json.loads(xml)["machine"]["zone"]["class"] == "DijkstraZone"
    assert json.loads(toml)["machine"]["zone"]["class"] == "Dragonfly"
    assert "smpy.engine._event" in xml_unbuilt
    assert "smpy.engine._event" in toml_unbuilt
