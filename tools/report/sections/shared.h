// tools/report/sections/shared.h - what several sections of a report are made with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/report/chart.h"
#include "tools/report/html.h"
#include "tools/report/run_lines.h"

namespace unweave {

using Columns = std::vector<HtmlTable::Column>;
inline constexpr auto kText = HtmlTable::Align::text;
inline const std::string kEpsilon = "\xCE\xB5", kDelta = "\xCE\xB4";

/// The texts with commas between them; none where there are none.
[[nodiscard]] std::optional<std::string> joined_texts(const std::vector<std::string>& texts);
/// "newton", or "name (newton)".
[[nodiscard]] std::string model_of(const RunLine& line);
/// `html` in an element p.
[[nodiscard]] std::string paragraph(const std::string& html);
/// One of two pieces of HTML, marked as good or bad.
[[nodiscard]] std::string yes_or_no(bool holds, const std::string& yes, const std::string& no);
/// A list of texts, escaped; nothing where there are none.
[[nodiscard]] std::string items_html(const std::vector<std::string>& texts);
/// Adds the series of a member over all batches; none where no batch has it.
void add_series(std::vector<Series>& all, const std::vector<RunLine>& batches, const char* name, const char* label);

/// What the batches say of one model.
struct ModelSteps {
  std::string model;  ///< as model_of() has it; empty where a batch has one model, which it does not name
  std::vector<std::optional<RunLine>> steps;  ///< one a batch; none where the model did not follow it
};

/// The models of all batches, in the order in which they first come.
[[nodiscard]] std::vector<ModelSteps> model_steps(const std::vector<RunLine>& batches);
/// The name of a model among several, a text.
[[nodiscard]] std::string name_among(const ModelSteps& model);
/// ": NAME" where there are several models, else nothing; a text.
[[nodiscard]] std::string of_model(const std::vector<ModelSteps>& all, const ModelSteps& model);
void add_series(std::vector<Series>& all, const ModelSteps& model, const char* name, const std::string& label);

}  // namespace unweave
