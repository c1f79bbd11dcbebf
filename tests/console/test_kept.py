"""What is kept for seconds is read by one for all, and never for another site."""

from threading import Event, Thread

from console import kept


class SlowRead:
    """Each reading is the next number; the second waits until it is let go."""

    def __init__(self) -> None:
        self.count = 0
        self.begun, self.go = Event(), Event()

    def __call__(self) -> int:
        self.count += 1
        if self.count > 1:
            self.begun.set()
            assert self.go.wait(10)
        return self.count


def test_while_one_reads_again_the_others_see_what_was_there() -> None:
    source = SlowRead()

    @kept.kept(0.0)
    def read() -> int:
        return source()

    assert read() == 1
    first = Thread(target=read)
    first.start()
    assert source.begun.wait(10)
    assert [read(), read()] == [1, 1]
    source.go.set()
    first.join()
    assert source.count == 2


def test_what_is_long_past_is_shown_to_nobody() -> None:
    source = SlowRead()
    source.go.set()

    @kept.kept(-2 * kept.BEING_READ_S)
    def read() -> int:
        return source()

    assert [read(), read(), read()] == [1, 2, 3]


def test_what_is_forgotten_is_read_again() -> None:
    source = SlowRead()
    source.go.set()

    @kept.kept(60.0)
    def read(colour: str) -> int:
        return source()

    assert [read("a"), read("a"), read("b")] == [1, 1, 2]
    kept.forget()
    assert read("a") == 3
