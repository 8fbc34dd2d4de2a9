// tools/report/style.h - how a page looks: light, dark, on a phone, on paper.
//
// The colours of series are Okabe's and Ito's, darkened or lightened until they stand out 3:1 from
// the ground. Paper is always light.
#pragma once

#include <string_view>

namespace unweave {

inline constexpr std::string_view kPageStyle = R"css(
:root { color-scheme: light dark; --ground: #ffffff; --raised: #f3f5f7; --text: #1b1f24; --soft: #4a525c; --rule: #c3cad2;
  --link: #0b57a4; --good: #17663a; --bad: #a3200d; --s0: #0064a4; --s1: #b84a00; --s2: #00795a; --s3: #8a3a76; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171b; --raised: #1f242a; --text: #e8ebee; --soft: #b4bcc5; --rule: #46505b;
    --link: #8cc4ff; --good: #7ddca2; --bad: #ff9d8a; --s0: #56b4e9; --s1: #f0a030; --s2: #2fc79a; --s3: #e39ac9; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); overflow-wrap: break-word; font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
header, main, nav, footer { max-width: 62rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.5rem; }
footer { padding: 1rem 1rem 2rem; color: var(--soft); }
h1 { margin: 0; font-size: 1.8rem; line-height: 1.2; }
h2 { margin: 2.5rem 0 .5rem; padding-top: .75rem; border-top: 2px solid var(--rule); font-size: 1.35rem; line-height: 1.3; }
h3 { margin: 1.5rem 0 .5rem; font-size: 1.08rem; }
p, ul { max-width: 46rem; }
dl { max-width: 50rem; }
p { margin: .5rem 0; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: 1rem 0 0; padding: 0; list-style: none; }
nav a { display: inline-block; padding: .2rem 0; }
.lead { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .75rem; max-width: none; margin: 1rem 0; padding: 0; }
.tiles > div { padding: .7rem .9rem; border: 1px solid var(--rule); border-radius: .4rem; background: var(--raised); }
.tiles dt { color: var(--soft); font-size: .875rem; font-weight: 400; }
.tiles dd { margin: 0; font-size: 1.3rem; font-weight: 600; line-height: 1.3; overflow-wrap: anywhere; }
.tiles dd small { display: block; color: var(--soft); font-size: .875rem; font-weight: 400; }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
dl { margin: .75rem 0; }
dl:not(.tiles) > div { display: grid; grid-template-columns: 13rem 1fr; gap: 0 1rem; padding: .25rem 0; border-bottom: 1px solid var(--rule); }
dt { color: var(--soft); overflow-wrap: anywhere; }
dd { margin: 0; overflow-wrap: anywhere; }
dd ul { margin: 0; padding-left: 1.2rem; }
code { font: .875em/1.4 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.scroll { max-width: 100%; max-height: 26rem; margin: .75rem 0 1.25rem; overflow: auto; border: 1px solid var(--rule); border-radius: .4rem; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { padding: .5rem .7rem; color: var(--soft); text-align: left; }
th, td { padding: .35rem .7rem; border-top: 1px solid var(--rule); text-align: right; vertical-align: top; font-weight: 400; white-space: nowrap; }
thead th { position: sticky; top: 0; background: var(--raised); font-weight: 600; vertical-align: bottom; white-space: normal; }
th.text, td.text { text-align: left; }
figure { margin: 1.25rem 0; }
figcaption { font-weight: 600; }
.headline { max-width: none; margin: 1.25rem 0 0; padding: .7rem .9rem; border-left: .4rem solid var(--bad); background: var(--raised); font-size: 1.15rem; font-weight: 600; }
.headline.calm { border-color: var(--good); }
.wrap { display: inline-block; min-width: 13rem; white-space: normal; }
.one { white-space: nowrap; }
td time { white-space: normal; }
pre { margin: .75rem 0; padding: .6rem .8rem; border: 1px solid var(--rule); border-radius: .4rem; font: .8rem/1.4 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
form { display: flex; flex-wrap: wrap; align-items: end; gap: .5rem 1rem; margin: 1rem 0 0; }
label { display: block; flex: 1 1 16rem; max-width: 30rem; color: var(--soft); font-size: .9rem; }
input { display: block; width: 100%; margin-top: .2rem; padding: .5rem .6rem; border: 1px solid var(--soft); border-radius: .3rem; background: var(--ground); color: var(--text); font: inherit; font-size: 1rem; }
button { padding: .5rem 1.1rem; border: 1px solid var(--link); border-radius: .3rem; background: var(--link); color: var(--ground); font: inherit; font-weight: 600; cursor: pointer; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .35rem 0; padding: 0; list-style: none; font-size: .9rem; }
.legend li { display: flex; align-items: center; gap: .4rem; }
.legend svg { flex: none; }
.unit { margin: .4rem 0 0; color: var(--soft); font-size: .875rem; }
.chart { display: block; width: 100%; height: auto; }
.chart text { fill: var(--soft); font-size: 13px; paint-order: stroke; stroke: var(--ground); stroke-width: 4px; }
.grid { stroke: var(--rule); stroke-width: .6; }
.axis { stroke: var(--soft); stroke-width: 1.2; }
.track { stroke: var(--rule); stroke-width: 1.2; }
.line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
.mark { stroke: var(--ground); stroke-width: 1; }
.line.s0 { stroke: var(--s0); } .mark.s0 { fill: var(--s0); }
.line.s1 { stroke: var(--s1); stroke-dasharray: 9 5; } .mark.s1 { fill: var(--s1); }
.line.s2 { stroke: var(--s2); stroke-dasharray: 2 4; } .mark.s2 { fill: var(--s2); }
.line.s3 { stroke: var(--s3); stroke-dasharray: 12 4 2 4; } .mark.s3 { fill: var(--s3); }
@media (max-width: 40rem) {
  .chart text { font-size: 28px; }
  .chart .line { stroke-width: 4; }
  .chart .mark { stroke-width: .5; }
  dl:not(.tiles) > div { grid-template-columns: 1fr; }
  .tiles { grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); }
  .tiles dd { font-size: 1.1rem; }
}
@media print {
  @page { margin: 16mm 14mm; }
  :root { color-scheme: light; --ground: #ffffff; --raised: #f3f5f7; --text: #000000; --soft: #3a4149; --rule: #b0b8c0;
    --link: #000000; --good: #17663a; --bad: #a3200d; --s0: #0064a4; --s1: #b84a00; --s2: #00795a; --s3: #8a3a76; }
  body { font-size: 10pt; }
  header, main, footer { max-width: none; padding: 0; }
  nav { display: none; }
  h2, h3, figcaption, caption { break-after: avoid; }
  figure, tr, .tiles > div, dl > div { break-inside: avoid; }
  form, .screen { display: none; }
  .wrap { min-width: 0; }
  pre { border: 0; padding: 0; font-size: 7.5pt; }
  .scroll { max-height: none; overflow: visible; border: 0; }
  table { font-size: 7.5pt; }
  thead { display: table-header-group; }
  thead th { position: static; }
  th, td { padding: .15rem .3rem; white-space: normal; }
  .tiles { grid-template-columns: repeat(4, 1fr); }
  .tiles dd { font-size: 1rem; }
}
)css";

}  // namespace unweave
