/** What to begin with: a scenario each, whose first comment says what to look at. */
import bbr from "../presets/bbr.toml?raw";
import bufferbloat from "../presets/bufferbloat.toml?raw";
import change from "../presets/change.toml?raw";
import ehstcp from "../presets/ehstcp.toml?raw";
import hyunJang from "../presets/hyun-jang.toml?raw";
import l4s from "../presets/l4s.toml?raw";
import lte from "../presets/lte.toml?raw";
import shortenLeith from "../presets/shorten-leith.toml?raw";
import survey from "../presets/survey.toml?raw";

export const PRESETS: readonly { title: string; text: string }[] = [
  { title: "CUBIC meets BBR", text: bbr },
  { title: "Bufferbloat", text: bufferbloat },
  { title: "L4S", text: l4s },
  { title: "LTE", text: lte },
  { title: "Rate change", text: change },
  { title: "Hyun & Jang", text: hyunJang },
  { title: "Shorten & Leith", text: shortenLeith },
  { title: "eHSTCP", text: ehstcp },
  { title: "Vegas and UDP", text: survey },
];
