"""Power of hosts and links: read from SimGrid's properties and from [power], with checks that name the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpy.errors import PlatformError, PlatformWarning
from smpy.platforms import Description, read_machine
from smpy.platforms.models.power import HostPower, PowerState, host_power
from smpy.platforms.own_format.writing import write_toml

HEAD = "<platform version='4.1'>\n<zone id='z' routing='Full'>\n"


def xml(tmp_path: Path, body: str) -> Description:
    file = tmp_path / "machine.xml"
    file.write_text(f"{HEAD}{body}\n</zone></platform>")
    return read_machine(str(file), 1)


def toml(tmp_path: Path, text: str) -> Description:
    file = tmp_path / "machine.toml"
    file.write_text(text)
    return read_machine(str(file), 1)


def power_of(machine: Description) -> HostPower | None:
    host = machine.zone.parts[0] if hasattr(machine.zone, "parts") else machine.zone.cluster  # type: ignore[attr-defined]
    states = host.speed_flop_per_s, host.state_speeds_flop_per_s, host.first_state
    return host_power(dict(host.properties), *states)


def test_states_of_a_host_have_the_speeds_and_powers_of_their_places(tmp_path: Path) -> None:
    prop = "<prop id='wattage_per_state' value='100:120:200, 90:150'/><prop id='wattage_off' value='9'/>"
    machine = xml(tmp_path, f"<host id='h' speed='4Gf, 3Gf' pstate='1' core='2'>{prop}</host>")
    states = PowerState(4e9, 100, 120, 200), PowerState(3e9, 90, 90, 150)
    assert power_of(machine) == HostPower(states, first_state=1, off_w=9)
    assert machine.build().speed_flop_per_s(0) == 3e9


def test_toml_and_xml_of_one_machine_say_the_same_power(tmp_path: Path) -> None:
    hosts = "prefix='n' suffix='' radical='0-3' core='2' bw='1GBps' lat='1us'"
    for speed, prop, table in (
        ("4Gf", "100:220", 'idle = "100W"\nbusy = "0.22kW"'),
        ("4Gf", "100:120:220", 'idle = "100W"\none_core = "120W"\nbusy = "220W"\noff = "9W"'),
        (
            "4Gf,3Gf",
            "100:120:220,92:110:180",
            """states = [{speed = "4Gf", idle = "100W", one_core = "120W", busy = "220W"},
                         {speed = "3Gf", idle = "92W", one_core = "110W", busy = "180W"}]""",
        ),
    ):
        off = "<prop id='wattage_off' value='9'/>" if "off" in table else ""
        props = f"<prop id='wattage_per_state' value='{prop}'/>{off}"
        theirs = xml(tmp_path, f"<cluster id='c' speed='{speed}' {hosts}>{props}</cluster>")
        cluster = theirs.zone.parts[0].cluster  # type: ignore[attr-defined]
        states = cluster.speed_flop_per_s, cluster.state_speeds_flop_per_s, cluster.first_state
        ours = toml(
            tmp_path, f"[host]\ncount = 4\ncores = 2\nspeed = '4Gf'\n[power]\n{table}\n[topology]\nkind = 'flat'"
        )
        assert power_of(ours) == host_power(dict(cluster.properties), *states)


def test_a_machine_with_states_is_written_down_and_read_back(tmp_path: Path) -> None:
    rows = '[{speed = "4Gf", idle = "9W", busy = "22W"}, {speed = "3Gf", idle = "8W", one_core = "8.5W", busy = "18W"}]'
    machine = toml(tmp_path, f'[host]\ncount = 4\n[power]\nstates = {rows}\nlink = "2W:6.5W"\nswitch = "150W"\n')
    again = toml(tmp_path, write_toml(machine))
    assert again == machine
    assert again.prices == machine.prices
    assert again.prices.link_w == (2, 6.5)


def test_scaling_the_speed_of_hosts_scales_all_their_states(tmp_path: Path) -> None:
    file = tmp_path / "machine.xml"
    file.write_text(f"{HEAD}<host id='h' speed='4Gf,3Gf'/></zone></platform>")
    power = power_of(read_machine(str(file), 1, [("host.speed", "x2")]))
    assert power is not None
    assert [state.speed_flop_per_s for state in power.states] == [8e9, 6e9]
    assert not power.has_power


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (("wattage_per_state", "200:100"), "an idle host draws 200 W, and a busy one 100 W"),
        (("wattage_per_state", "-1:100"), "-1 W is no power: give one from 0 on"),
        (("wattage_per_state", "1:nan"), "nan W is no power"),
        (("wattage_per_state", "100"), "'100' is neither Idle:AllCores nor Idle:Epsilon:AllCores"),
        (("wattage_per_state", "1:2:3:4"), "is neither Idle:AllCores nor Idle:Epsilon:AllCores"),
        (("wattage_per_state", "1:2,1:2"), "it has 2 states, and the host 1 speed"),
        (("wattage_per_state", "1:two"), "'two' is no number of watts"),
        (("wattage_off", "ten"), "'ten' is no number of watts"),
    ],
)
def test_wrong_power_of_a_host_is_refused_at_its_line(
    tmp_path: Path, properties: tuple[str, str], message: str
) -> None:
    name, value = properties
    for element in (
        "host id='h' speed='1Gf'",
        "cluster id='h' prefix='n' suffix='' radical='0' speed='1Gf' bw='1' lat='0'",
    ):
        with pytest.raises(PlatformError, match=rf"machine.xml:4: <prop id='{name}'>: .*{message}"):
            xml(tmp_path, f"<{element}>\n<prop id='{name}' value='{value}'/></{element.split()[0]}>")


@pytest.mark.parametrize(
    ("value", "message"), [("3:2", "an idle link draws 3 W"), ("3", "Idle:Busy"), ("a:b", "'a' is no number of watts")]
)
def test_wrong_power_of_a_link_is_refused_at_its_line(tmp_path: Path, value: str, message: str) -> None:
    for name in ("wattage_range", "watt_range"):
        with pytest.raises(PlatformError, match=rf"machine.xml:4: <prop id='{name}'>: .*{message}"):
            xml(tmp_path, f"<link id='l' bandwidth='1Bps'>\n<prop id='{name}' value='{value}'/></link>")


def test_the_halves_of_a_split_link_draw_no_power_and_a_warning_says_so(tmp_path: Path) -> None:
    prop = "<prop id='wattage_range' value='1:2'/>"
    with pytest.warns(PlatformWarning, match="draw no power, as in SimGrid: declare a link for each direction"):
        machine = xml(
            tmp_path,
            f"<host id='h' speed='1f'/><link id='l' bandwidth='1Bps' sharing_policy='SPLITDUPLEX'>{prop}</link>",
        )
    assert machine.zone.parts[1].properties == ()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            'idle = "200W"\nbusy = "100W"',
            r"3: power.busy: a host with all cores busy draws 100 W, and an idle one 200 W",
        ),
        ('idle = "1W"\nbusy = 350', r"3: power.busy: 350 has no unit: write it such as"),
        ('one_core = "350"', r"2: power.one_core: '350' has no unit"),
        ('busy = "-3W"', r"2: power.busy: it is -3, and must be at least 0"),
        ('link = "2:6"', r"2: power.link: '2' has no unit: write it such as \"2W:6W\""),
        ('link = "6W:2W"', r"2: power.link: an idle link draws 6 W, and a busy one 2 W"),
        ('link = "6W"', r"2: power.link: '6W' is not idle:busy"),
        ("states = []", r"2: power.states: it is a list of tables, one for each state"),
        ('states = [{speed = "1Gf", idle = "1W"}]', r"2: power.states\[0\]: busy is missing"),
        ('states = [{speed = "1Gf", idle = "1W", busy = 350}]', r"2: power.states\[0\].busy: 350 has no unit"),
        (
            'states = [{speed = "1Gf", idle = "3W", busy = "2W"}]',
            r"2: power.states\[0\]: .* draws 2 W, and an idle one 3 W",
        ),
        ('states = [{speed = "0", idle = "1W", busy = "2W"}]', r"2: power.states\[0\].speed: 0 cannot be"),
        ('states = [{speed = "1Gf", idle = "1W", bussy = "2W"}]', r"2: .*unknown key 'bussy': did you mean 'busy'"),
        ('states = [{speed = "1Gf", idle = "1W", busy = "2W"}]\nidle = "1W"', r"3: power.idle: the states say it"),
    ],
)
def test_wrong_power_in_toml_is_refused_at_its_line(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(PlatformError, match=rf"machine.toml:{message}"):
        toml(tmp_path, f"[power]\n{table}\n")


def test_the_speed_of_a_host_with_states_is_that_of_the_first(tmp_path: Path) -> None:
    states = 'states = [{speed = "2Gf", idle = "1W", busy = "2W"}, {speed = "1Gf", idle = "1W", busy = "2W"}]'
    assert toml(tmp_path, f"[host]\ncount = 1\n[power]\n{states}").build().speed_flop_per_s(0) == 2e9
    with pytest.raises(PlatformError, match=r"2: host.speed: power.states begins with 2Gf: remove it here"):
        toml(tmp_path, f"[host]\nspeed = '3Gf'\n[power]\n{states}")
