// tools/report/sections/store.cpp - what the store holds, and the public lines of its certificates.
#include <optional>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/report/html.h"
#include "tools/report/sections/sections.h"
#include "tools/report/sections/shared.h"

namespace unweave {
namespace {

std::string propagation_text(const PropagationSpec& spec) {
  std::string weights;
  for (const double weight : spec.weights) weights += (weights.empty() ? "" : ", ") + number_text(weight);
  return count_text(spec.levels) + " hops, " + escaped(spec.scheme) + ", weights " + weights;
}

std::string model_state(const ModelInfo& model) {
  if (!model.damage.empty()) return "<span class=\"bad\">damaged:</span> " + escaped(command_text(model.damage));
  if (model.other_propagation) return "stands on another propagation";
  return model.outdated ? "outdated: has not absorbed every request" : "up to date";
}

std::string log_html(const CertificateLog& log) {
  const RunLine& newest = log.certificates.back();
  HtmlList facts;
  facts.add("Solver", text_cell(newest.text("solver")));
  facts.add("Public key", code_cell(newest.text("public_key")));
  facts.add("Log", code_cell(newest.text("log")));
  facts.add("How the newest release was made", text_cell(newest.text("mechanism")));
  facts.add("What it is compared with", text_cell(newest.text("reference")));
  facts.add("Changes that it covers", text_cell(newest.text("adjacency")));
  facts.add("Requests", text_cell(newest.text("requests")));
  facts.add("Releases covered", text_cell(newest.text("releases")));
  const std::vector<std::string> withdraw = newest.texts("withdraw");
  std::string releases;
  for (const std::string& release : withdraw) releases += (releases.empty() ? "" : ", ") + code_cell(release);
  facts.add("Releases to withdraw", releases);
  facts.add("Not covered", items_html(newest.texts("not_covered")));
  HtmlTable table("Certificates of " + log.model, {{"number"},
                                                   {"release", kText},
                                                   {"time", kText},
                                                   {"requests", kText},
                                                   {"theorem", kText},
                                                   {"claim", kText},
                                                   {"certified", kText},
                                                   {kEpsilon},
                                                   {kDelta},
                                                   {"for tests", kText},
                                                   {"digest", kText}});
  for (const RunLine& line : log.certificates) {
    const RunLine batch = line.part("batch");
    const auto first = batch.count("first"), last = batch.count("last");
    const std::string requests = first && last ? count_cell(first) + " to " + count_cell(last) : "training";
    table.add_row({count_cell(line.count("number")), code_cell(line.text("id")), text_cell(line.text("time")), requests,
                   text_cell(line.text("theorem")), text_cell(line.text("claim")), flag_cell(line.flag("certified")),
                   real_cell(line.real("epsilon")), real_cell(line.part("delta").real("target")),
                   line.flag("for_tests").value_or(false) ? "yes" : "", code_cell(line.text("digest"))});
  }
  return "<h3>" + escaped(log.model) + "</h3>\n" + facts.html() + table.html();
}

}  // namespace

std::string store_section(const StoreFacts& store) {
  const StoreInfo& info = store.info;
  HtmlList list;
  list.add("Store", escaped(store.name));
  list.add("Nodes", count_cell(info.nodes));
  list.add("Edges", count_cell(info.edges));
  list.add("Features", count_cell(info.features));
  list.add("Classes", count_cell(info.classes));
  list.add("Labelled nodes", count_cell(info.labelled));
  list.add("Training, validation, test",
           count_cell(info.train) + ", " + count_cell(info.valid) + ", " + count_cell(info.test));
  list.add("Propagation", info.propagation ? propagation_text(*info.propagation) : "none");
  list.add("Rows not yet brought up to date", count_cell(info.stale_rows));
  list.add("Requests since the import or the last purge", count_cell(info.acknowledged));
  list.add("State", info.pending_purge      ? yes_or_no(false, "", "a purge was begun and is not finished")
                    : info.acknowledged > 0 ? "traces of removed data are in its files until a purge"
                                            : "no request since the import or the last purge");
  if (info.digest) list.add("Content digest", code_cell(digest_text(*info.digest)));
  HtmlTable models("Models of the store", {{"model", kText},
                                           {"solver", kText},
                                           {"state", kText},
                                           {"requests absorbed"},
                                           {"newest release", kText},
                                           {"digest of its weights", kText}});
  for (const ModelInfo& model : info.models) {
    const bool is_read = model.damage.empty();
    models.add_row({escaped(model.name), escaped(model.solver), model_state(model),
                    is_read ? count_cell(model.sequence) : "",
                    !is_read           ? ""
                    : model.id.empty() ? "not certified yet"
                                       : code_cell(model.id),
                    code_cell(model.digest)});
  }
  return paragraph("The store at the moment when this page was made. Equal contents have equal content digests.") +
         list.html() + (models.empty() ? "" : models.html());
}

std::string certificate_section(const StoreFacts& store) {
  std::string html;
  for (const CertificateLog& log : store.logs) html += log_html(log);
  return html.empty()
             ? html
             : paragraph(
                   "The public lines of the certificates, oldest first. Each is signed, and names the digest of the "
                   "one before it; <code>unweave verify</code> checks that, and this page does not.") +
                   html;
}

}  // namespace unweave
