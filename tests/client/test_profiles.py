"""Profiles: where they are, what overrules them, and that a token goes to its own service only."""

import stat
from pathlib import Path

import pytest
from fairwatt.profiles import ProfileError, ServiceProfile, chosen, config_path, load, remember

HOME = ServiceProfile("http://a:8000", "fw_m_secret", "demo")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "fairwatt" / "config.toml"
    remember(path, "home", HOME)
    return path


def test_the_usual_place(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config_path({"XDG_CONFIG_HOME": "/x"}) == Path("/x/fairwatt/config.toml")
    monkeypatch.setenv("HOME", "/h")
    assert config_path({}) == Path("/h/.config/fairwatt/config.toml")


def test_what_is_remembered_comes_back_and_is_private(path: Path) -> None:
    remember(path, 'odd "name"', ServiceProfile("https://b", "t\\oken\n"))
    assert chosen(path, "home", {}) == HOME
    assert chosen(path, None, {}) == ServiceProfile("https://b", "t\\oken\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_environment_overrules(path: Path) -> None:
    other = chosen(path, "home", {"FAIRWATT_TOKEN": "fw_m_other", "FAIRWATT_CLUSTER": "big"})
    assert other == ServiceProfile("http://a:8000", "fw_m_other", "big")
    assert chosen(path, None, {"FAIRWATT_PROFILE": "home"}) == HOME


def test_a_token_is_not_sent_to_another_address(path: Path) -> None:
    assert chosen(path, "home", {"FAIRWATT_URL": "http://evil"}).token is None
    assert chosen(path, "home", {"FAIRWATT_URL": "http://a:8000/"}).token == "fw_m_secret"


def test_an_unknown_profile_names_those_there_are(path: Path) -> None:
    with pytest.raises(ProfileError) as caught:
        chosen(path, "hone", {})
    assert "'hone'" in str(caught.value)
    assert "home" in caught.value.next_step


@pytest.mark.parametrize("text", ["profiles = [", "[profiles.a]\nurk = 1\n"])
def test_a_broken_configuration_is_named(text: str, path: Path) -> None:
    path.write_text(text)
    with pytest.raises(ProfileError, match=r"config\.toml"):
        load(path)


def test_nothing_is_needed_to_begin(tmp_path: Path) -> None:
    assert chosen(tmp_path / "none", None, {}) == ServiceProfile()
