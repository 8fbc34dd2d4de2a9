// storage/formats/import_record.cpp - writes the record of an unfinished import, and reads it with a check of every
// field.
#include "storage/formats/import_record.h"

#include <span>
#include <stdexcept>

#include "storage/io/checksum.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"
#include "storage/io/store_folders.h"

namespace unweave {
namespace {

using RecordJson = nlohmann::ordered_json;
constexpr std::uint64_t kRecordLimit = std::uint64_t{64} << 20;

std::filesystem::path record_path(const std::filesystem::path& store) {
  return store / kImportFolder / "record.json";
}

RecordJson json_of(const FileEntry& entry) {
  return {entry.path, entry.bytes, entry.root};
}

/// A file below the folder that holds it.
FileEntry kept_entry(const RecordJson& json) {
  if (!json.is_array() || json.size() != 3) throw std::runtime_error("a file is missing");
  FileEntry entry{json[0].get<std::string>(), whole_number<std::uint64_t>(json[1]), json[2].get<std::string>()};
  const std::filesystem::path path = entry.path;
  bool leaves = path.empty() || path.is_absolute() || entry.path.find('\0') != std::string::npos;
  for (const auto& part : path) leaves |= part == ".." || part.empty();
  if (leaves) throw std::runtime_error("the path " + text_of_json(RecordJson(entry.path)) + " leaves the store");
  return entry;
}

template <class Item, class Write>
RecordJson list_of(const std::vector<Item>& items, const Write& write) {
  RecordJson list = RecordJson::array();
  for (const Item& item : items) list.push_back(write(item));
  return list;
}

template <class Item, class Read>
std::vector<Item> items_of(const RecordJson& json, const Read& read) {
  if (!json.is_array()) throw std::runtime_error("a list is missing");
  std::vector<Item> items;
  for (const RecordJson& item : json) items.push_back(read(item));
  return items;
}

template <class T>
RecordJson perhaps(const std::optional<T>& value) {
  return value ? RecordJson(*value) : RecordJson();
}

std::optional<NodeId> perhaps_node(const RecordJson& json) {
  return json.is_null() ? std::nullopt : std::optional(whole_number<NodeId>(json));
}

RecordJson json_of(const KeptArcs& arcs) {
  return {
      {"place",
       {arcs.place.edges, arcs.place.bytes, arcs.place.lines, arcs.place.left_out.ignored, arcs.place.left_out.zeros}},
      {"whole", arcs.whole},
      {"edges_read", arcs.edges_read},
      {"self_loops", arcs.self_loops},
      {"upward", arcs.upward},
      {"smallest_node", perhaps(arcs.smallest_node)},
      {"largest_node", perhaps(arcs.largest_node)},
      {"bytes", arcs.bytes},
      {"chunks", list_of(arcs.chunks, [](const FileEntry& entry) { return json_of(entry); })}};
}

KeptArcs kept_arcs(const RecordJson& json) {
  const RecordJson& place = json.at("place");
  if (!place.is_array() || place.size() != 5) throw std::runtime_error("the place among the edges is missing");
  const auto number = [](const RecordJson& one) { return whole_number<std::uint64_t>(one); };
  const LeftOutWeights left_out{number(place[3]), number(place[4])};
  return {EdgePlace{number(place[0]), number(place[1]), number(place[2]), left_out},
          json.at("whole").get<bool>(),
          number(json.at("edges_read")),
          number(json.at("self_loops")),
          number(json.at("upward")),
          perhaps_node(json.at("smallest_node")),
          perhaps_node(json.at("largest_node")),
          number(json.at("bytes")),
          items_of<FileEntry>(json.at("chunks"), kept_entry)};
}

RecordJson json_of(const KeptGraph& graph) {
  return {{"arcs", graph.arcs ? json_of(*graph.arcs) : RecordJson()},
          {"shards", list_of(graph.shards,
                             [](const CountedShard& shard) {
                               return RecordJson{json_of(shard.file), shard.arcs, shard.unique};
                             })},
          {"whole", graph.whole},
          {"nodes", graph.nodes},
          {"counts", json_of(graph.counts)}};
}

KeptGraph kept_graph(const RecordJson& json) {
  KeptGraph graph;
  if (!json.at("arcs").is_null()) graph.arcs = kept_arcs(json.at("arcs"));
  graph.shards = items_of<CountedShard>(json.at("shards"), [](const RecordJson& item) -> CountedShard {
    if (!item.is_array() || item.size() != 3) throw std::runtime_error("a shard is missing");
    return {kept_entry(item[0]), whole_number<std::uint64_t>(item[1]), whole_number<std::uint64_t>(item[2])};
  });
  graph.whole = json.at("whole").get<bool>();
  graph.nodes = whole_number<NodeId>(json.at("nodes"));
  graph.counts = kept_arcs(json.at("counts"));
  return graph;
}

RecordJson contents_of(const ImportRecord& record) {
  RecordJson json;
  json["options"] = list_of(record.options, [](const auto& one) { return RecordJson{one.first, one.second}; });
  json["names"] = nullptr;
  if (const auto& names = record.names)
    json["names"] = {json_of(names->entries.names), json_of(names->entries.index), names->nodes, names->named};
  json["given"] = json_of(record.given);
  json["ordered"] = json_of(record.ordered);
  json["order"] = record.order ? json_of(*record.order) : RecordJson();
  json["seconds_order"] = record.seconds_order;
  json["statistics"] = nullptr;
  if (const auto& columns = record.statistics)
    json["statistics"] = {{"mean", columns->mean},
                          {"deviation", columns->deviation},
                          {"largest_norm", columns->largest_norm},
                          {"passes", columns->passes},
                          {"rows", columns->rows}};
  json["rows"] = nullptr;
  if (const auto& rows = record.rows)
    json["rows"] = {{"rows", rows->rows},
                    {"above", rows->above},
                    {"first_above", rows->first_above},
                    {"norm_of_first_above", rows->norm_of_first_above},
                    {"largest", rows->largest},
                    {"bytes", rows->bytes},
                    {"bucket_keys", rows->bucket_keys},
                    {"pieces", list_of(rows->pieces, [](const FileEntry& entry) { return json_of(entry); })}};
  json["features"] = list_of(record.features, [](const KeptFeatures& one) {
    return RecordJson{json_of(one.file), one.above, one.first_above, one.norm_of_first_above, one.largest};
  });
  return json;
}

ImportRecord record_from(const RecordJson& json) {
  ImportRecord record;
  record.options = items_of<std::pair<std::string, std::string>>(json.at("options"), [](const RecordJson& item) {
    if (!item.is_array() || item.size() != 2) throw std::runtime_error("an option is missing");
    return std::pair(item[0].get<std::string>(), item[1].get<std::string>());
  });
  if (const RecordJson& names = json.at("names"); !names.is_null()) {
    if (!names.is_array() || names.size() != 4) throw std::runtime_error("the names are missing");
    record.names = {NameEntries{kept_entry(names[0]), kept_entry(names[1])}, whole_number<NodeId>(names[2]),
                    whole_number<std::uint64_t>(names[3])};
  }
  record.given = kept_graph(json.at("given"));
  record.ordered = kept_graph(json.at("ordered"));
  if (!json.at("order").is_null()) record.order = kept_entry(json.at("order"));
  record.seconds_order = real_number(json.at("seconds_order"));
  if (const RecordJson& columns = json.at("statistics"); !columns.is_null())
    record.statistics = {real_numbers(columns.at("mean")), real_numbers(columns.at("deviation")),
                         real_number(columns.at("largest_norm")), whole_number<std::uint64_t>(columns.at("passes")),
                         whole_number<std::uint64_t>(columns.at("rows"))};
  if (const RecordJson& rows = json.at("rows"); !rows.is_null())
    record.rows = {whole_number<std::uint64_t>(rows.at("rows")),
                   whole_number<std::uint64_t>(rows.at("above")),
                   whole_number<std::uint64_t>(rows.at("first_above")),
                   real_number(rows.at("norm_of_first_above")),
                   real_number(rows.at("largest")),
                   whole_number<std::uint64_t>(rows.at("bytes")),
                   whole_number<std::uint64_t>(rows.at("bucket_keys")),
                   items_of<FileEntry>(rows.at("pieces"), kept_entry)};
  record.features = items_of<KeptFeatures>(json.at("features"), [](const RecordJson& item) -> KeptFeatures {
    if (!item.is_array() || item.size() != 5) throw std::runtime_error("a file of features is missing");
    return {kept_entry(item[0]), whole_number<std::uint64_t>(item[1]), whole_number<std::uint64_t>(item[2]),
            real_number(item[3]), real_number(item[4])};
  });
  return record;
}

}  // namespace

std::string import_record_text(const ImportRecord& record) {
  const std::string contents = text_of_json(contents_of(record));
  const RecordJson json = {{"format", "unweave unfinished import"},
                           {"version", kImportRecordVersion},
                           {"checksum", to_hex(checksum128(std::as_bytes(std::span(contents)), {}))},
                           {"contents", RecordJson::parse(contents)}};
  return text_of_json(json, 1) + "\n";
}

ImportRecord parse_import_record(const std::string& text, const std::filesystem::path& path) {
  try {
    const RecordJson json = parse_json<RecordJson>(text);
    if (json.at("format").get<std::string>() != "unweave unfinished import")
      throw std::runtime_error("format: not the record of an unfinished import");
    if (json.at("version") != kImportRecordVersion) throw std::runtime_error("version: another program's");
    const std::string contents = text_of_json(json.at("contents"));
    if (to_hex(checksum128(std::as_bytes(std::span(contents)), {})) != json.at("checksum").get<std::string>())
      throw std::runtime_error("checksum: the contents are damaged");
    return record_from(json.at("contents"));
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(path, "contents", fault_of(error));
  } catch (const std::runtime_error& error) {
    throw FormatError(path, "contents", fault_of(error));
  }
}

std::optional<ImportRecord> read_import_record(const std::filesystem::path& store) {
  const std::filesystem::path path = record_path(store);
  if (!has_entry(path)) return std::nullopt;
  return parse_import_record(read_text_file(path, kRecordLimit), path);
}

void write_import_record(const std::filesystem::path& store, const ImportRecord& record) {
  replace_file(record_path(store), import_record_text(record));
}

}  // namespace unweave
