// tests/fuzz/sessions.cpp - any bytes as requests to a session with a model and receipts, killed,
// opened again and closed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "fuzz/target.h"
#include "storage/formats/request_log.h"
#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "storage/io/plain_text.h"
#include "support/old_journal.h"
#include "unweave/ingest.h"
#include "unweave/requests.h"
#include "unweave/stream.h"

namespace unweave::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRequests = 24;

/// Makes a small store with a model, which every input begins with.
fs::path make_store(Resources& resources) {
  fs::path store = scratch() / "before";
  GenerateOptions options;
  options.model = GraphModel::kSbm;
  options.scale = 6;
  options.edge_factor = 3;
  options.features = 4;
  options.classes = 2;
  generate_store(store, options, resources);
  Writer writer(store, resources);
  PropagationSpec spec;
  spec.levels = 1;
  writer.propagate(spec);
  static_cast<void>(writer.train({}));
  return store;
}

/// What an older program took for an id, in so many bytes.
std::string old_id(std::string_view bytes, std::size_t size) {
  std::string id(bytes.substr(0, size));
  std::erase_if(id, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == ',' || c == '\x7F'; });
  id.resize(size, '-');
  return id;
}

std::string read_all(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

/// A byte that says what happens, an id to send past the reader of lines, and lines of requests.
void session(std::string_view bytes) {
  static Resources resources({std::uint64_t{1} << 28, 1});
  static const fs::path before = make_store(resources);
  const fs::path store = scratch() / "session", receipts = scratch() / "session-receipts";
  fs::remove_all(store);
  fs::remove(receipts);
  fs::copy(before, store, fs::copy_options::recursive);
  Taker taker(bytes);
  const auto how = taker.take<std::uint8_t>();
  std::string_view rest = taker.rest();
  const auto next_line = [&] {
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    return line;
  };
  const std::string sent(next_line());
  const std::string placeholder = "PLACEHOLDER-OF-AN-OLD-ID";
  std::vector<Request> requests{{RequestKind::remove_node, 1, 0, placeholder}};
  while (!rest.empty() && requests.size() < kMostRequests)
    if (std::optional<Request> request = parse_request(next_line())) requests.push_back(*std::move(request));
  std::set<std::string> ids;
  for (const Request& request : requests)
    if (!request.id.empty()) ids.insert(request.id);
  const StreamOptions options{.model = {.solver = "exact"}, .receipts = receipts};
  const bool applies = how % 2 == 1;
  {
    Writer writer(store, resources);
    StreamSession first(writer, options);
    static_cast<void>(first.acknowledge(requests));
    if (applies) static_cast<void>(first.apply_acknowledged(requests.size()));
    const Request past{RequestKind::remove_feature, 2, 0, sent};
    bool taken = !sent.empty();
    try {
      if (taken && applies) static_cast<void>(first.send({&past, 1}));
    } catch (const UsageError&) {
      taken = false;
    }
    require(!applies || sent.empty() || taken == is_request_id(sent), "an id is taken that is none");
    if (taken && applies) ids.insert(sent);
    if (how / 2 % 2 == 1 && applies) first.close();
  }
  if (!applies) {  // what an older program has acknowledged and a kill has kept it from applying
    const std::string id = old_id(sent, placeholder.size());
    testing::put_words_into_journal(store, placeholder, id);
    ids.erase(placeholder);
    ids.insert(printable(id));
  }
  try {
    Writer writer(store, resources);
    require(applies || writer.remark_on_ids().empty() == ids.contains(old_id(sent, placeholder.size())),
            "an id of an older program is not told");
    StreamSession second(writer, options);
    const Request last{RequestKind::remove_node, 3, 0, "last"};
    static_cast<void>(second.send({&last, 1}));
    second.close();
  } catch (const Error& error) {
    throw std::logic_error(std::string("the store does not go on: ") + error.what());
  }
  std::set<std::string> found;
  visit_requests(store, std::nullopt, resources, [&](const RequestRecord& record) { found.insert(record.id); });
  require(std::includes(found.begin(), found.end(), ids.begin(), ids.end()), "an acknowledged request is lost");
  const std::string told = read_all(receipts);
  require(!text_fault(told, "\n"), "a receipt holds what is no plain text");
  require(nlohmann::json::parse(told.substr(0, told.find('\n'))).is_object(), "a receipt is no JSON");
}

constexpr Target kTargets[] = {{"sessions", session}};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

}  // namespace unweave::fuzz
