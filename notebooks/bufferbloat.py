"""What does a deep buffer do to a call, and what a queue against it? `marimo edit notebooks/bufferbloat.py`."""

import marimo

app = marimo.App(app_title="Bufferbloat")


@app.cell
def _():
    import marimo as mo

    import fullpipe

    return fullpipe, mo


@app.cell
def _(mo):
    mo.md("""
    # A download and a call

    Two downloads fill a buffer; a call has one segment under way at a time and waits for all that stands before it. A
    queue that drops by the time waited, or that keeps flows apart, ends the waiting without a smaller buffer.
    """)
    return


@app.cell
def _(fullpipe, mo):
    queue = mo.ui.dropdown([name for name in fullpipe.queues() if name != "step"], value="drop-tail", label="queue")
    packets = mo.ui.slider(20, 1000, step=20, value=500, label="buffer, packets")
    mo.hstack([queue, packets])
    return packets, queue


@app.cell
def _(fullpipe, packets, queue):
    scenario = fullpipe.Scenario(
        duration="40 s",
        warmup="10 s",
        packet_size=1500,
        links=[
            {
                "name": "access",
                "rate": "20 Mbit/s",
                "delay": "15 ms",
                "buffer": f"{packets.value} packets",
                "queue": queue.value,
            }
        ],
        flows=[
            {"name": "downloads", "algorithm": "cubic", "count": 2, "access_delay": "5 ms", "start": "0 s..1 s"},
            {"name": "call", "algorithm": "newreno", "access_delay": "5 ms", "max_window": 1},
        ],
    )
    result = fullpipe.run(scenario)
    round_trips = {row["name"]: row["mean_rtt_s"] for row in result.groups.to_pylist()}
    return result, round_trips


@app.cell
def _(mo, result, round_trips):
    used = result.links["utilization"][0].as_py()
    waits_ms = 1000 * round_trips["call"]
    mo.md(f"The call waits **{waits_ms:.0f} ms** for a round trip of 40; the link is {100 * used:.1f} % used.")
    return


@app.cell
def _(result):
    result.plot()
    return


if __name__ == "__main__":
    app.run()
