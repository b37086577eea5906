declare module "virtual:engine" {
  /** The compiled engine, gzipped, as base64. */
  const engine: string;
  export default engine;
}
