// tools/report/sections/claims.cpp - under which theorem releases were made, and what it says.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/report/html.h"
#include "tools/report/sections/sections.h"
#include "tools/report/sections/shared.h"

namespace unweave {
namespace {

struct TheoremText {
  std::string_view claim, text;
};

constexpr TheoremText kTheorems[] = {
    {"T0", "The published weights are those of training on the present data from nothing, bit for bit."},
    {"T1", "The optimisation on the present data is finished up to a proved remainder, which noise covers."},
    {"T2", "Noisy steps go on from the weights of before, on the present data, until what was removed is covered."},
    {"T3", "Vectors that were made while learning take the removed records out, and noise covers the remainder."},
    {"T4",
     "Learning goes on from an iterate of before, on the present data, and noise on the last weights covers what remains."},
};

/// One row of the table of claims: where it is made, and how often.
struct ClaimRow {
  std::string of, claim, epsilon, delta;
  std::uint64_t releases = 0, certified = 0;
};

}  // namespace

std::string theorem_section(const ReportInput& input) {
  HtmlTable table("Claims of the releases",
                  {{"releases of", kText}, {"claim", kText}, {kEpsilon}, {kDelta}, {"releases"}, {"certified"}});
  std::vector<ClaimRow> rows;
  std::set<std::string> claims;
  const auto add = [&](std::string of, const RunLine& line, std::optional<double> delta) {
    const std::string claim = line.text("claim").value_or("none");
    claims.insert(claim);
    ClaimRow row{std::move(of), claim, real_cell(line.real("epsilon")), real_cell(delta)};
    auto at = std::find_if(rows.begin(), rows.end(), [&](const ClaimRow& other) {
      return std::tie(other.of, other.claim, other.epsilon, other.delta) ==
             std::tie(row.of, row.claim, row.epsilon, row.delta);
    });
    if (at == rows.end()) at = rows.insert(rows.end(), row);
    ++at->releases;
    if (line.flag("certified").value_or(false)) ++at->certified;
  };
  for (const RunLine& line : input.lines.trainings) add("training of " + model_of(line), line, line.real("delta"));
  const std::vector<ModelSteps> models = model_steps(input.lines.batches);
  for (const ModelSteps& model : models)
    for (const auto& step : model.steps)
      if (step && step->has("certified")) add("batches of the streams" + of_model(models, model), *step, std::nullopt);
  if (input.store)
    for (const CertificateLog& log : input.store->logs)
      for (const RunLine& line : log.certificates)
        add("certificates of " + log.model, line, line.part("delta").real("target"));
  if (rows.empty()) return "";
  for (const ClaimRow& row : rows)
    table.add_row({escaped(row.of), escaped(row.claim), row.epsilon, row.delta, count_cell(row.releases),
                   count_cell(row.certified)});

  std::string html = paragraph(
      "A release is one publication of a model\xE2\x80\x99s weights: a training, or one batch. It is certified with (" +
      kEpsilon + ", " + kDelta +
      ") where a theorem proves that nobody can tell its weights from those learnt on the present data alone, but for "
      "these two numbers: 0 and 0 mean that they are the same.");
  html += table.html();
  HtmlList meanings;
  for (const TheoremText& theorem : kTheorems)
    if (claims.contains(std::string(theorem.claim))) meanings.add(theorem.claim, escaped(theorem.text));
  if (claims.contains("none")) meanings.add("none", "Nothing is claimed of these releases.");
  for (const std::string& claim : claims)
    if (claim.starts_with("as published"))
      meanings.add("as published", "What a paper claims; Unweave does not prove it, and certifies nothing by it.");
  return html + meanings.html();
}

}  // namespace unweave
