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

static void add_where_measured(std::vector<Series>& all, Series series) {
  if (std::any_of(series.values.begin(), series.values.end(), [](const auto& value) { return value.has_value(); }))
    all.push_back(std::move(series));
}

void add_series(std::vector<Series>& all, const std::vector<RunLine>& batches, const char* name, const char* label) {
  Series series{label, {}};
  for (const RunLine& batch : batches) series.values.push_back(batch.real(name));
  add_where_measured(all, std::move(series));
}

void add_series(std::vector<Series>& all, const ModelSteps& model, const char* name, const std::string& label) {
  Series series{label, {}};
  for (const auto& step : model.steps) series.values.push_back(step ? step->real(name) : std::nullopt);
  add_where_measured(all, std::move(series));
}

std::vector<ModelSteps> model_steps(const std::vector<RunLine>& batches) {
  std::vector<ModelSteps> models;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const auto add = [&](const std::string& name, RunLine line) {
      auto at =
          std::find_if(models.begin(), models.end(), [&](const ModelSteps& model) { return model.model == name; });
      if (at == models.end()) at = models.insert(at, {name, {}});
      at->steps.resize(batches.size());
      at->steps[i] = std::move(line);
    };
    const std::vector<RunLine> parts = batches[i].parts("models");
    for (const RunLine& part : parts) add(model_of(part), part);
    if (parts.empty()) add("", batches[i]);
  }
  return models;
}

std::string name_among(const ModelSteps& model) {
  return model.model.empty() ? "the one model of its stream" : model.model;
}

std::string of_model(const std::vector<ModelSteps>& all, const ModelSteps& model) {
  return all.size() > 1 ? ": " + name_among(model) : "";
}

}  // namespace unweave
