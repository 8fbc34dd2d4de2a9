// tools/commands/requests.cpp - `unweave requests`: what became of requests that have an id.
#include "unweave/fields/requests.h"

#include <sstream>
#include <string>

#include "storage/io/error.h"
#include "storage/io/plain_text.h"
#include "storage/io/shell_word.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/commands/commands.h"
#include "unweave/stream.h"

namespace unweave {
namespace {

/// Whether a rejected request asked for what is so already.
bool is_so_already(const RequestRecord& record) {
  if (record.kind == "set-weight" && record.status == name_of(RequestStatus::absent_edge)) return false;
  for (const RequestStatus status :
       {RequestStatus::absent_edge, RequestStatus::present_edge, RequestStatus::empty_node, RequestStatus::no_features,
        RequestStatus::repeated, RequestStatus::same_features, RequestStatus::same_label, RequestStatus::same_split,
        RequestStatus::same_expiry, RequestStatus::same_weight})
    if (record.status == name_of(status)) return true;
  return false;
}

std::string sentence_of(const std::string& status) {
  for (const StatusText& one : kStatusTexts)
    if (one.name == status) return std::string(one.sentence);
  return "a reason of a later program";
}

/// What is left to do for a rejected request that no earlier one is known to have done.
std::string left_of_rejected(const RequestRecord& record, const std::string& store) {
  const std::string reason = sentence_of(record.status);
  if (record.status == name_of(RequestStatus::other_expiry)) return reason + ", which counts";
  if (record.status == name_of(RequestStatus::present_edge))
    return reason + "; where another weight was meant, set-weight changes it";
  if (!is_so_already(record)) return reason + "; if more was meant, send it, mended, with another id";
  if (record.purged) return reason + "; the store was purged since; nothing is left to do";
  if (!record.removes()) return reason + "; nothing is left to do";
  return reason + "; where an earlier request has removed it, files hold it until a purge (`unweave purge " +
         shell_word(store) + "`)";
}

/// What is left to do for it.
std::string left_text(const RequestRecord& record, const std::string& store) {
  if (!record.done()) return left_of_rejected(record, store);
  if (record.kind == "expires")
    return "the note was taken; unless a later request has changed it, or removed what it names, what it asks for is "
           "another request of this id when its time has come (`unweave info` counts the notes that stand)";
  if (record.settled())
    return record.purged ? "the store was purged since; nothing is left to do" : "nothing is left to do";
  std::string text;
  for (const std::string& model : record.waiting)
    text.append(text.empty() ? "the model " : "; the model ")
        .append(model)
        .append(" has yet to forget it (`unweave stream ")
        .append(shell_word(store))
        .append(" --requests /dev/null --name ")
        .append(shell_word(model))
        .append("`)");
  if (record.purged || !record.removes()) return text;
  return text + (text.empty() ? "" : "; ") + "files still hold what it removed (`unweave purge " + shell_word(store) +
         "`)";
}

void print(std::ostream& out, const RequestRecord& record, const std::string& store) {
  std::ostringstream text;  // kinds, times and names of a log that somebody else may have written
  text << record.id << ": " << record.kind << (record.expired ? " that was to expire" : "") << ", "
       << (record.status == "applied" ? record.status : "rejected (" + record.status + ")") << " at "
       << time_text(record.time) << " as request " << record.sequence;
  if (record.earlier > 0)
    text << "; request " << record.earlier << (record.earlier_id.empty() ? "" : " (" + record.earlier_id + ")")
         << " asked for the same and was applied at " << time_text(record.earlier_time);
  for (const CoveringCertificate& one : record.certificates)
    text << "; certificate " << one.number << " of " << one.model << " at " << one.time;
  text << "; " << left_text(record, store);
  out << printable(text.str()) << '\n';
}

/// The moment that an option names.
Millis time_option(const CommandLine& line, const std::string& name) {
  const std::optional<Millis> time = read_time(line.get<std::string>(name));
  if (!time) throw UsageError("--" + name + " must be a day, 2026-03-01, or a moment in UTC, 2026-03-01T12:00Z");
  return *time;
}

}  // namespace

void run_requests(CommandLine& line) {
  line.describe(
      "Says what became of requests whose lines end in `id=` and their sender's name for them (`edge 12 34 id=T7`): when\n"
      "each was durable, whether it was applied, which certificate covers it, and what is left to do for it. A request that\n"
      "is sent again with an id that is known is not applied again; another one with this id is refused.",
      {"STORE"}, "unweave requests demo/debian.store --json");
  auto add = line.options().add_options();
  add("id", po::value<std::string>()->value_name("ID"), "this one alone; exit code 2 where nobody knows it");
  add("pending", po::bool_switch(), "those alone for which something is left to do");
  add("forget-before", po::value<std::string>()->value_name("TIME"),
      "forget all that were durable before this day or moment (2026-03-01, 2026-03-01T12:00Z): their ids may be used again");
  if (!line.parse()) return;
  if (line.has("forget-before") && (line.has("id") || line.get<bool>("pending")))
    throw UsageError("--forget-before goes alone");
  Resources resources({line.common().memory_bytes});
  if (line.has("forget-before")) {
    const std::uint64_t count = forget_requests(line.positional(0), time_option(line, "forget-before"), resources);
    if (line.common().json)
      write_json_line(line.out(), {{"forgotten", count}});
    else
      line.out() << "forgotten: " << counted(count, "request") << '\n';
    return;
  }
  std::optional<std::string> id;
  if (line.has("id")) id = line.get<std::string>("id");
  std::uint64_t count = 0;
  visit_requests(line.positional(0), id, resources, [&](const RequestRecord& record) {
    ++count;
    if (line.get<bool>("pending") && record.settled()) return;
    if (line.common().json)
      write_json_line(line.out(), json_fields(record));
    else
      print(line.out(), record, line.positional(0));
  });
  if (id && count == 0) throw DataError(line.positional(0) + ": no request has the id " + *id);
  if (count == 0 && !line.common().quiet && !line.common().json)
    line.error() << "unweave: no request of this store has an id; end its line with `id=NAME`\n";
}

}  // namespace unweave
