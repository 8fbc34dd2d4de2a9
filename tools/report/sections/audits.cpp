// tools/report/sections/audits.cpp - attacks on certificates, beside what these claim.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/output.h"
#include "tools/report/chart.h"
#include "tools/report/html.h"
#include "tools/report/sections/sections.h"
#include "tools/report/sections/shared.h"

namespace unweave {
namespace {

std::string audit_name(const RunLine& line) {
  return model_of(line) + ", " + line.text("canary").value_or("a canary");
}

std::string verdict_html(const RunLine& line) {
  if (line.flag("refuted").value_or(false)) return yes_or_no(false, "", "refuted");
  return line.flag("certified").value_or(false) ? yes_or_no(true, "not refuted", "") : "nothing is certified";
}

/// A point for each audit that counted hits; audits with the same shares share one.
TradeOff trade_off_of(const std::vector<RunLine>& audits) {
  TradeOff trade_off;
  for (std::size_t i = 0; i < audits.size(); ++i) {
    const RunLine& line = audits[i];
    const auto tests = line.count("tests"), unlearned = line.count("hits_unlearned"),
               retrained = line.count("hits_retrained");
    if (line.has("guesses") || !tests || *tests == 0 || !unlearned || !retrained) continue;
    const auto share = [&](std::uint64_t hits) {
      return std::min(1.0, static_cast<double>(hits) / static_cast<double>(*tests));
    };
    const TradeOff::Point point{std::to_string(i + 1), share(*retrained), share(*unlearned)};
    const auto same = std::find_if(trade_off.points.begin(), trade_off.points.end(),
                                   [&](const auto& other) { return other.x == point.x && other.y == point.y; });
    if (same == trade_off.points.end())
      trade_off.points.push_back(point);
    else
      same->label += ", " + point.label;
    const auto epsilon = line.real("epsilon"), delta = line.real("delta");
    const bool is_known = std::any_of(trade_off.claims.begin(), trade_off.claims.end(), [&](const auto& claim) {
      return claim.epsilon == epsilon && claim.delta == delta;
    });
    if (line.flag("certified").value_or(false) && epsilon && delta && !is_known &&
        trade_off.claims.size() + 1 < kMostSeries)
      trade_off.claims.push_back({*epsilon, *delta});
  }
  return trade_off;
}

}  // namespace

std::string audit_section(const RunLines& lines) {
  const std::vector<RunLine>& audits = lines.audits;
  if (audits.empty()) return "";
  HtmlTable table("Audits", {{"audit"},
                             {"model and canary", kText},
                             {"attack", kText},
                             {"trials"},
                             {"tests"},
                             {"hits, unlearned"},
                             {"hits, retrained"},
                             {"guesses"},
                             {"right"},
                             {"confidence"},
                             {kEpsilon + " claimed"},
                             {kDelta},
                             {kEpsilon + " at least"},
                             {"most provable"},
                             {"certified", kText},
                             {"verdict", kText}});
  std::vector<Series> bounds{{kEpsilon + " shown, at least", {}},
                             {kEpsilon + " claimed", {}},
                             {"the most that so many trials could show", {}}};
  std::vector<std::string> names;
  std::uint64_t refuted = 0;
  for (std::size_t i = 0; i < audits.size(); ++i) {
    const RunLine& line = audits[i];
    if (line.flag("refuted").value_or(false)) ++refuted;
    const bool guessed = line.has("guesses");
    const auto hits = [&](const char* name) { return guessed ? std::string() : count_cell(line.count(name)); };
    table.add_row({std::to_string(i + 1), escaped(audit_name(line)), text_cell(line.text("attack")),
                   count_cell(line.count("trials")), count_cell(line.count("tests")), hits("hits_unlearned"),
                   hits("hits_retrained"), count_cell(line.count("guesses")), count_cell(line.count("guesses_right")),
                   real_cell(line.real("confidence")), real_cell(line.real("epsilon")), real_cell(line.real("delta")),
                   real_cell(line.real("epsilon_lower_bound")), real_cell(line.real("epsilon_provable")),
                   flag_cell(line.flag("certified")), verdict_html(line)});
    names.push_back(std::to_string(i + 1) + ". " + audit_name(line));
    bounds[0].values.push_back(line.real("epsilon_lower_bound"));
    bounds[1].values.push_back(line.real("epsilon"));
    bounds[2].values.push_back(line.real("epsilon_provable"));
  }
  std::string html = paragraph(
      "An audit tries to tell models that unlearned a canary from models that never saw it, by many releases of both. What it "
      "finds is a lower bound of " +
      kEpsilon + ". A bound below the claim does not prove the claim; one above it refutes it. " +
      yes_or_no(refuted == 0, "No claim was refuted.",
                "Claims were refuted: " + count_text(refuted) + " of " + count_text(audits.size()) + "."));
  html += point_chart(
      {"bounds", "What attacks have shown, and what is claimed",
       "One row for each audit. The bound that was shown stands beside the claim and beside the most that so "
       "many trials could have shown. The table below has every number.",
       kEpsilon + ", without a unit", ""},
      names, bounds, std::nullopt);
  const TradeOff trade_off = trade_off_of(audits);
  if (!trade_off.points.empty())
    html +=
        paragraph(
            "In the next chart every point is an attack, with the number of its audit: how often it takes an unlearned "
            "model for unlearned, over how often it takes a retrained one for unlearned. On the diagonal it does not tell "
            "them apart. A claim of (" +
            kEpsilon + ", " + kDelta + ") leaves it the ground between its two borders, but for chance.") +
        trade_off_chart(
            {"trade-off", "Trade-off of the attacks, and what the claim leaves to them",
             "A square from 0 to 1 on both sides, with the borders of each claim around the diagonal, and a "
             "point for each attack. The table below has the counts.",
             "share of retrained models taken for unlearned", "share of unlearned models taken for unlearned"},
            trade_off);
  return html + table.html();
}

}  // namespace unweave
