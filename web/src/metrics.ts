/** Titles of metrics, from the registry of the engine. */

/** A metric as the engine lists it. */
export interface Metric {
  id: string;
  title: string;
  unit: string;
  kind: string;
  definition: string;
}

/** The registry of metrics. */
export class Metrics {
  private readonly byId: Map<string, Metric>;

  constructor(metrics: Metric[]) {
    this.byId = new Map(metrics.map((metric) => [metric.id, metric]));
  }

  /** Heading of a column, without its unit. Throws for an unknown id, so that no page shows a blank heading. */
  title(id: string): string {
    const metric = this.byId.get(id);
    if (!metric) throw new Error(`no metric ${id}`);
    return metric.title;
  }

  /** Title of a percentile without its number: "RTT" for p95_rtt_s. */
  quantity(id: string): string {
    const title = this.title(id).replace(/^p\d+ /, "");
    return title[0]!.toUpperCase() + title.slice(1);
  }
}
