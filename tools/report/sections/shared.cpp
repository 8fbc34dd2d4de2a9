// tools/report/sections/shared.cpp - small pieces of HTML, and series out of lines.
#include "tools/report/sections/shared.h"

#include <algorithm>
#include <utility>

namespace unweave {

std::optional<std::string> joined_texts(const std::vector<std::string>& texts) {
  if (texts.empty()) return std::nullopt;
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

std::string model_of(const RunLine& line) {
  const std::string solver = line.text("solver").value_or("a model without a name");
  const std::string name = line.text("name").value_or(solver);
  return name == solver ? name : name + " (" + solver + ")";
}

std::string paragraph(const std::string& html) {
  return "<p>" + html + "</p>\n";
}

std::string yes_or_no(bool holds, const std::string& yes, const std::string& no) {
  return holds ? "<span class=\"good\">" + yes + "</span>" : "<span class=\"bad\">" + no + "</span>";
}

std::string items_html(const std::vector<std::string>& texts) {
  std::string html = "<ul>\n";
  for (const std::string& text : texts) html += "<li>" + escaped(text) + "</li>\n";
  return texts.empty() ? std::string() : html + "</ul>\n";
}

void add_series(std::vector<Series>& all, const std::vector<RunLine>& batches, const char* name, const char* label) {
  Series series{label, {}};
  for (const RunLine& batch : batches) series.values.push_back(batch.real(name));
  if (std::any_of(series.values.begin(), series.values.end(), [](const auto& value) { return value.has_value(); }))
    all.push_back(std::move(series));
}

}  // namespace unweave
