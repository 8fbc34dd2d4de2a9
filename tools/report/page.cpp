// tools/report/page.cpp - a page for the files of whoever answers for the data: its figures at a
// glance, its sections, its limits.
#include "tools/report/page.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/cli/output.h"
#include "tools/report/html.h"
#include "tools/report/sections/sections.h"
#include "tools/report/sections/shared.h"
#include "tools/report/style.h"
#include "unweave/version.h"

namespace unweave {
namespace {

/// A part of the page with a heading of its own.
struct Section {
  std::string id, title, html;
};

/// Whether all that the page shows may be published: lines of `stream --public` alone.
bool is_public(const ReportInput& input) {
  const RunLines& lines = input.lines;
  return !input.store && !lines.batches.empty() && lines.trainings.empty() && lines.evaluations.empty() &&
         lines.audits.empty() && lines.verifications.empty() && lines.purges.empty() &&
         std::none_of(lines.batches.begin(), lines.batches.end(),
                      [](const RunLine& line) { return line.has("applied"); });
}

std::string limits_section(const ReportInput& input) {
  const RunLines& lines = input.lines;
  const bool has_requests = input.store && !input.store->requests.newest.empty();
  const bool has_times = has_requests || std::any_of(lines.batches.begin(), lines.batches.end(),
                                                     [](const RunLine& line) { return line.has("time"); });
  std::string html = "<ul>\n";
  const auto item = [&](const std::string& text) { html += "<li>" + text + "</li>\n"; };
  item(
      "The requests in clear, also where they were rejected: which edges, nodes and features somebody wanted removed. "
      "Counts and reasons are here" +
      std::string(has_requests ? ", and of requests to which their senders gave an id also this id, the kind, the time "
                                 "and what became of them."
                               : "."));
  item(
      "Weights of models, files below <code>models/</code>, private parts of certificates, signing keys and receipts.");
  item("Metrics by class, and the terms of bounds and of noise.");
  if (!has_times)
    item(
        "When requests came. The lines of the runs have no days and hours, so that equal inputs give an equal page: write "
        "the day beside it where it is filed.");
  if (lines.others > 0)
    item(
        counted(lines.others, "line") +
        " of other commands than <code>stream</code>, "
        "<code>train</code>, <code>certify</code>, <code>evaluate</code>, <code>audit</code>, <code>verify</code> and <code>purge</code>.");
  html += "</ul>\n";
  html +=
      is_public(input)
          ? paragraph("Everything here comes from lines that <code>stream --public</code> printed for publication.")
          : paragraph(
                "Counts of applied and rejected requests, times, residual bounds, digests of weights and figures of "
                "attacks depend on removed data. Keep this page where such records are kept; what may be published is a "
                "page made from lines of <code>stream --json --public</code> alone.");
  return html;
}

void add_tile(std::string& html, std::string_view name, const std::string& value, const std::string& beside = "") {
  if (value.empty()) return;
  html += "<div><dt>" + escaped(name) + "</dt><dd>" + value + (beside.empty() ? "" : "<small>" + beside + "</small>") +
          "</dd></div>\n";
}

std::string tiles_html(const ReportInput& input) {
  const RunLines& lines = input.lines;
  std::string html = "<dl class=\"tiles\">\n";
  if (!lines.batches.empty()) {
    const BatchTotals totals = totals_of(lines);
    add_tile(html, "Requests", count_cell(totals.requests),
             totals.applied && totals.rejected
                 ? count_text(*totals.applied) + " applied, " + count_text(*totals.rejected) + " rejected"
                 : std::string());
    const bool has_claims = std::any_of(lines.batches.begin(), lines.batches.end(),
                                        [](const RunLine& line) { return line.has("certified"); });
    add_tile(html, "Batches", count_cell(lines.batches.size()),
             has_claims ? count_text(totals.certified) + " certified" : std::string());
    const std::vector<ModelSteps> models = model_steps(lines.batches);
    for (const ModelSteps& model : models) {
      std::vector<Series> accuracy;
      add_series(accuracy, model, "accuracy_test", "test");
      if (accuracy.empty()) continue;
      const auto is_there = [](const auto& value) { return value.has_value(); };
      const auto& values = accuracy.front().values;
      add_tile(html, "Test accuracy, last" + of_model(models, model),
               real_cell(*std::find_if(values.rbegin(), values.rend(), is_there)),
               "after the first batch " + number_text(**std::find_if(values.begin(), values.end(), is_there)));
    }
  }
  if (!lines.audits.empty()) {
    const auto refuted = std::count_if(lines.audits.begin(), lines.audits.end(),
                                       [](const RunLine& line) { return line.flag("refuted").value_or(false); });
    add_tile(html, "Audits", count_cell(lines.audits.size()),
             yes_or_no(refuted == 0, "no claim refuted", "a claim was refuted"));
  }
  if (!lines.verifications.empty())
    add_tile(html, "Last check",
             yes_or_no(lines.verifications.back().flag("ok").value_or(false), "holds", "does not hold"),
             counted(lines.verifications.back().count("checked").value_or(0), "statement"));
  if (!lines.purges.empty())
    add_tile(html, "Last purge", lines.purges.back().flag("purged").value_or(false) ? "erased" : "nothing to erase",
             counted(lines.purges.back().count("requests").value_or(0), "request") + " forgotten");
  if (input.store) {
    add_tile(html, "Store", count_cell(input.store->info.nodes) + " nodes", counted(input.store->info.edges, "edge"));
    std::size_t certificates = 0;
    for (const CertificateLog& log : input.store->logs) certificates += log.certificates.size();
    add_tile(html, "Certificates", count_cell(certificates));
  }
  return html + "</dl>\n";
}

std::vector<Section> sections_of(const ReportInput& input) {
  const RunLines& lines = input.lines;
  std::vector<Section> sections;
  const auto add = [&](std::string id, std::string title, std::string html) {
    if (!html.empty()) sections.push_back({std::move(id), std::move(title), std::move(html)});
  };
  if (has_nothing(input))
    add("nothing", "Nothing was done",
        paragraph("No line of <code>stream</code>, <code>train</code>, <code>certify</code>, <code>evaluate</code>, "
                  "<code>audit</code>, <code>verify</code> or <code>purge</code> is in these files."));
  if (!lines.batches.empty()) add("asked", "What was asked and done", asked_section(lines));
  add("theorems", "Under which theorem", theorem_section(input));
  add("accuracy-by-batch", "Accuracy by batch", accuracy_section(lines));
  add("cost", "Cost by batch", cost_section(lines));
  add("trainings", "Trainings", training_section(lines));
  add("retraining", "Unlearning against retraining", retraining_section(lines));
  add("forgetting", "What models show of forgotten rows", forgetting_section(lines));
  add("audits", "Audits", audit_section(lines));
  add("checks", "Checks", verification_section(lines));
  add("purges", "Purges", purge_section(lines));
  if (input.store) {
    add("requests", "Requests", request_section(*input.store));
    add("store", "The store", store_section(*input.store));
    add("certificates", "Certificates", certificate_section(*input.store));
  }
  add("limits", "What this page does not show", limits_section(input));
  return sections;
}

std::string sources_text(const ReportInput& input) {
  std::vector<std::string> names;
  if (input.store) names.push_back("the store " + input.store->name);
  for (const std::filesystem::path& file : input.lines.files) names.push_back(file.filename().string());
  return escaped(joined_texts(names).value_or(""));
}

}  // namespace

bool has_nothing(const ReportInput& input) {
  const RunLines& lines = input.lines;
  return !input.store && lines.batches.empty() && lines.trainings.empty() && lines.evaluations.empty() &&
         lines.audits.empty() && lines.verifications.empty() && lines.purges.empty();
}

BatchTotals totals_of(const RunLines& lines) {
  BatchTotals totals{0, 0, 0, 0};
  const auto add = [](std::optional<std::uint64_t>& sum, std::optional<std::uint64_t> part) {
    sum = sum && part ? std::optional(*sum + *part) : std::nullopt;
  };
  for (const RunLine& batch : lines.batches) {
    totals.requests += batch.count("requests").value_or(0);
    add(totals.applied, batch.count("applied"));
    add(totals.rejected, batch.count("rejected"));
    const std::vector<RunLine> models = batch.parts("models");
    const auto is_certified = [](const RunLine& line) { return line.flag("certified").value_or(false); };
    if (models.empty() ? is_certified(batch) : std::all_of(models.begin(), models.end(), is_certified))
      ++totals.certified;
  }
  return totals;
}

std::string report_page(const ReportInput& input) {
  const std::vector<Section> sections = sections_of(input);
  const std::string title = "Unlearning report" + (input.store ? ": " + escaped(input.store->name) : std::string());
  // The policy forbids whatever an error of this program, or a text from outside, could make a
  // browser fetch or run.
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
      title + "</title>\n<style>" + std::string(kPageStyle) + "</style>\n</head>\n<body>\n<header>\n<h1>" + title +
      "</h1>\n<p class=\"lead\">Made from " + sources_text(input) +
      ".</p>\n</header>\n<nav aria-label=\"Contents\">\n<ul>\n";
  for (const Section& section : sections)
    page += "<li><a href=\"#" + section.id + "\">" + section.title + "</a></li>\n";
  page +=
      "</ul>\n</nav>\n<main>\n" + (input.store ? unpurged_headline(*input.store) : std::string()) + tiles_html(input);
  for (const Section& section : sections)
    page += "<section aria-labelledby=\"" + section.id + "\">\n<h2 id=\"" + section.id + "\">" + section.title +
            "</h2>\n" + section.html + "</section>\n";
  return page + "</main>\n<footer>\n<p>Made by <code>unweave report</code>, version " + std::string(version()) +
         ".</p>\n</footer>\n</body>\n</html>\n";
}

}  // namespace unweave
