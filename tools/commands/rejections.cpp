// tools/commands/rejections.cpp - writes rejected requests: some with their batch, all of them to a
// file, counts at the end.
#include "tools/commands/rejections.h"

#include <algorithm>
#include <ostream>
#include <string_view>

#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"
#include "storage/io/private_file.h"
#include "tools/cli/output.h"

namespace unweave {
namespace {

/// A batch may have a million rejected requests: what is longer than this is written before the
/// next one is made.
constexpr std::size_t kWriteBytes = 4096;
constexpr std::size_t kBegunBytes = 1024;  // by which one knows that a line begins with a request
constexpr std::size_t kShownBytes = 64;    // where people read a request: rows of features are long

/// Calls use(i) for every rejected request of a batch.
template <class Use>
void for_each_rejected(const PlacedBatch& batch, const Use& use) {
  for (std::size_t i = 0; i < batch.decided.statuses.size(); ++i)
    if (batch.decided.statuses[i] != RequestStatus::applied) use(i);
}

bool is_rejected_line(std::string_view line) {
  if (std::count(line.begin(), line.end(), '\t') != 2) return false;
  const std::string_view reason = line.substr(line.find('\t') + 1);
  return std::any_of(kStatusTexts.begin() + 1, kStatusTexts.end(),
                     [&](const StatusText& text) { return reason.starts_with(std::string(text.name) + '\t'); });
}

/// What a crash may leave of the first line.
bool is_begun_line(std::string_view text) {
  for (const std::string_view word :
       {"edge ", "node ", "feature ", "insert-edge ", "insert-node ", "set-feature ", "set-label ", "set-weight ",
        "move-split ", "graph ", "set-graph-label ", "move-graph-split "})
    if (text.starts_with(word) || word.starts_with(text)) return true;
  return false;
}

std::string shown(std::string text) {
  if (text.size() > kShownBytes) text.replace(kShownBytes, std::string::npos, " ...");
  return text;
}

}  // namespace

std::string rejected_text(const PlacedBatch& batch, std::size_t most, bool with_lines) {
  std::string text;
  std::size_t told = 0, all = 0;
  for_each_rejected(batch, [&](std::size_t i) {
    if (++all > most) return;
    ++told;
    text += text.empty() ? "" : "; ";
    if (with_lines) text += "line " + std::to_string(batch.places[i]) + ": ";
    text += shown(batch.text(i)) + ": " + std::string(name_of(batch.decided.statuses[i]));
  });
  return all > told ? text + "; and " + count_text(all - told) + " more" : text;
}

void write_with_rejections(std::ostream& out, const nlohmann::ordered_json& object, const PlacedBatch& batch) {
  std::string text = text_of_json(object);
  text.pop_back();
  text += ",\"rejections\":[";
  bool first = true;
  for_each_rejected(batch, [&](std::size_t i) {
    const nlohmann::ordered_json rejection = {{"request", batch.text(i)},
                                              {"reason", name_of(batch.decided.statuses[i])},
                                              {"sequence", batch.decided.after + i + 1},
                                              {"line", batch.places[i]}};
    text += (first ? "" : ",") + text_of_json(rejection);
    first = false;
    if (text.size() < kWriteBytes) return;
    out << text;
    text.clear();
  });
  out << text << "]}\n" << std::flush;
}

RejectedFile::RejectedFile(const std::filesystem::path& named) {
  const std::filesystem::path path = resolved(named);
  const bool fresh = !has_entry(path);
  file_ = fresh ? File::create(path, kOwnerAlone) : File::open_write(path);
  if (fresh) {
    sync_directory(path.has_parent_path() ? path.parent_path() : ".");
    return;
  }
  const auto refuse = [&](const std::string& place) {
    throw InputError(path, place, "this is no list of rejected requests", "name another file");
  };
  const LogEnd end = read_lines(path, [&](std::string_view line, std::uint64_t number) {
    if (!is_rejected_line(line)) refuse("line " + std::to_string(number));
  });
  end_ = end.bytes;
  if (end.bytes > 0 || end.tail == 0) return;
  std::string begun(std::min<std::uint64_t>(end.tail, kBegunBytes), '\0');
  file_.read_at(0, std::as_writable_bytes(std::span(begun)));
  if (!is_begun_line(begun) && begun.find_first_not_of('\0') != std::string::npos) refuse("byte 0");
}

void RejectedFile::add(const PlacedBatch& batch) {
  std::string text;
  const auto write = [&] {
    file_.write_at(end_, std::as_bytes(std::span(text)));
    end_ += text.size();
    text.clear();
  };
  file_.truncate(end_);  // a line that a crash left incomplete
  const std::uint64_t before = end_;
  for_each_rejected(batch, [&](std::size_t i) {
    text += batch.text(i) + '\t' + std::string(name_of(batch.decided.statuses[i])) + '\t' +
            (batch.decided.refused ? "-" : std::to_string(batch.decided.after + i + 1)) + '\n';
    if (text.size() >= kWriteBytes) write();
  });
  write();
  if (end_ > before) file_.sync();
}

void RequestCounts::add(std::span<const RequestStatus> statuses) {
  for (const RequestStatus status : statuses) ++counts_[static_cast<std::size_t>(status)];
}

std::uint64_t RequestCounts::rejected() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 1; i < counts_.size(); ++i) sum += counts_[i];
  return sum;
}

std::string RequestCounts::text() const {
  std::string text = count_text(counts_[0]) + " applied, " + count_text(rejected()) + " rejected";
  std::string_view between = ": ";
  for (std::size_t i = 1; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    text += std::string(between) + count_text(counts_[i]) + ' ' + std::string(kStatusTexts[i].name);
    between = ", ";
  }
  return text;
}

std::string request_table() {
  std::string text = R"(What a request does to what the store holds:

               node U           feature U        edge U V       insert-edge U V
  edges        all of U go      stay             this one goes  this one comes
  features     of U to zero     of U to zero     stay           stay
  label        of U goes        of U goes        stays          stays
  split        U leaves its     U leaves its     stays          stays
  embedding    U's goes, or is  U's goes, or is  rows within L  rows within L
               zero (all rows)  of neighbours    hops follow    hops follow
  id           stays, empty     stays            stay           stay
  model        forgets U, and   forgets U, and   follows the    follows the
               follows rows     follows rows     rows           rows

                 set-feature U V1 .. VF  set-label U C           move-split U S
  edges          stay                    stay                    stay
  features       those of U are V1 .. VF stay                    stay
  label          stays                   U has class C, or none  stays
  split          stays                   none: U leaves its      U is in S
  embedding      rows within L hops      U's comes or goes       stays
                 follow                  (rows labelled)
  model          follows the rows        follows U               follows U

set-feature takes all values or pairs C:V of columns; what is left out is 0. Rows
are scaled as the import scaled them. C is a class number or none; S is train,
valid, test or none. insert-node U V1 .. VF does so for a node that has nothing.

Where edges have weights, insert-edge U V weight W inserts one of weight W, else of
1, and set-weight U V W gives an edge another one; rows and models follow.

Where nodes belong to graphs, graph G removes all nodes of graph G, its label and its
split; set-graph-label G C and move-graph-split G S are as those of nodes, and
insert-node U V1 .. VF graph=G puts U into graph G. No edge joins two graphs.

`edge U V expires T`, `node U expires T`, `feature U expires T` and `graph G expires T`
change nothing but a note: from T on (2027-01-31T12:00:00Z, 2027-01-31, or never)
stream --expired and serve do what the line says without it.

Ids are never given anew, and the number of nodes stays; insert-edge may join a
removed node again. A model changes with --solver, or when it next streams.

One request a line: the word in lower case, then ids, whole numbers from 0 or the
names of a store that has them, with blanks, tabs or commas between. Lines that
begin with # and empty ones are skipped. A request that would change nothing, or
asks for what the store cannot have, is rejected, and has no effect:

)";
  std::size_t longest = 0;
  for (const StatusText& one : kStatusTexts) longest = std::max(longest, one.name.size());
  for (std::size_t i = 1; i < kStatusTexts.size(); ++i) {
    const std::string name(kStatusTexts[i].name);
    text += "  " + name + std::string(longest + 1 - name.size(), ' ') + std::string(kStatusTexts[i].sentence) + '\n';
  }
  text.pop_back();  // a help ends without a line feed
  return text;
}

}  // namespace unweave
