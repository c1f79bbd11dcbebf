"""Room for volumes where the host has no such folder: made of what is there, and closed again."""

from pathlib import Path

from agent.run.mount_points import opened
from agent.wire import Mount


def volume(target: Path) -> Mount:
    return Mount("v", "/srv/v", str(target))


def test_a_folder_that_is_there_needs_no_room(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    assert opened([volume(tmp_path / "data")], ()) == ((), ())


def test_below_the_attempts_own_folders_there_is_room_anyway(tmp_path: Path) -> None:
    assert opened([volume(tmp_path / "data")], (str(tmp_path),)) == ((), ())


def test_the_deepest_folder_is_put_together_anew_and_closed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to("kept")
    both = [volume(tmp_path / "deep" / "data"), volume(tmp_path / "other")]
    top, kept, link = str(tmp_path), str(tmp_path / "kept"), str(tmp_path / "link")
    makes, closes = opened(both, ())
    assert makes == ("--tmpfs", top, "--ro-bind-try", kept, kept, "--symlink", "kept", link)
    assert closes == ("--remount-ro", top)


def test_a_folder_comes_before_one_within_it(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    makes, _ = opened([volume(tmp_path / "inner" / "a"), volume(tmp_path / "b")], ())
    assert makes.index(str(tmp_path)) < makes.index(str(tmp_path / "inner"))
    assert [word for word in makes if word == "--tmpfs"] == ["--tmpfs"] * 2
