"""How much buffer does a link need? `marimo edit notebooks/buffer.py`, or `marimo run`."""

import marimo

app = marimo.App(app_title="How much buffer?")


@app.cell
def _():
    import marimo as mo

    import fullpipe
    from fullpipe import models

    return fullpipe, mo, models


@app.cell
def _(mo):
    mo.md("""
    # How much buffer does a link need?

    One flow crosses a link. Each loss takes a part of its window; what the buffer held before must keep the link busy
    until the window has grown again. The closed forms are fluids; the simulator sends packets.
    """)
    return


@app.cell
def _(mo):
    algorithm = mo.ui.dropdown(
        ["newreno", "cubic", "adaptive-aimd", "hyun-jang", "vegas"], value="newreno", label="algorithm"
    )
    rtt_ms = mo.ui.slider(10, 200, step=10, value=40, label="round trip, ms")
    mo.hstack([algorithm, rtt_ms])
    return algorithm, rtt_ms


@app.cell
def _(algorithm, fullpipe, rtt_ms):
    buffers = [0.05, 0.125, 0.25, 0.5, 1.0]
    scenario = fullpipe.Scenario(
        duration="120 s",
        warmup="40 s",
        links=[{"name": "bottleneck", "rate": "20 Mbit/s", "delay": f"{rtt_ms.value / 2} ms", "buffer": "1 BDP"}],
        flows=[{"algorithm": algorithm.value}],
    )
    runs = fullpipe.run_many({k: scenario.replace(**{"links.bottleneck.buffer": f"{k} BDP"}) for k in buffers})
    utilization = {k: run.links["utilization"][0].as_py() for k, run in runs.items()}
    return runs, utilization


@app.cell
def _(mo, models, utilization):
    mo.ui.table(
        [
            {
                "buffer, BDP": k,
                "simulated": round(found, 4),
                "Reno as a fluid": round(models.reno_utilization(k), 4),
                "adaptive AIMD as a fluid": round(models.adaptive_aimd_utilization(k), 4),
            }
            for k, found in utilization.items()
        ]
    )
    return


@app.cell
def _(runs):
    runs[0.125].plot()
    return


if __name__ == "__main__":
    app.run()
