// storage/input/foreign_format.cpp - recognises other formats by their first bytes and says how Python converts them.
#include "storage/input/foreign_format.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "storage/io/error.h"

namespace unweave {

namespace {

constexpr std::size_t kHeadBytes = std::size_t{64} << 10;
constexpr std::string_view kBlanks = " \t\r\n";

/// The path as a literal of Python, or a stand-in where quoting it would take more than quotes.
std::string python_path(const std::filesystem::path& path) {
  const std::string text = path.string();
  const bool plain = path != "-" && std::none_of(text.begin(), text.end(), [](char c) {
                       return c == '\'' || c == '\\' || static_cast<unsigned char>(c) < ' ';
                     });
  return "'" + (plain ? text : std::string("FILE")) + "'";
}

/// numpy.save() of what is wanted of a data frame `t`.
std::string save_frame(InputKind kind) {
  switch (kind) {
    case InputKind::kEdges:
      return "numpy.save('edges.npy', t[['source', 'target']].to_numpy('int64'))";
    case InputKind::kFeatures:
      return "numpy.save('features.npy', t.to_numpy('float32'))";
    case InputKind::kLabels:
      return "numpy.save('labels.npy', t['label'].to_numpy('int64'))";
    case InputKind::kNodeIds:
      break;
  }
  return "numpy.save('ids.npy', t['node'].to_numpy('int64'))";
}

std::string array_name(InputKind kind) {
  return kind == InputKind::kEdges      ? "edges.npy"
         : kind == InputKind::kFeatures ? "features.npy"
         : kind == InputKind::kLabels   ? "labels.npy"
                                        : "ids.npy";
}

std::string with_frame(const std::string& modules, const std::string& reading, InputKind kind) {
  return "convert it with Python: import numpy, " + modules + "; t = " + reading + "; " + save_frame(kind);
}

std::string with_networkx(const std::string& modules, const std::string& reading, InputKind kind) {
  if (kind != InputKind::kEdges) return "write it with numpy.save('" + array_name(kind) + "', ...)";
  return "convert it with Python: import " + modules + "; G = networkx.convert_node_labels_to_integers(" + reading +
         "); numpy.save('edges.npy', list(G.edges()))";
}

[[noreturn]] void refuse(const ByteSource& source, const std::string& what, const std::string& remedy) {
  throw InputError(source.name(), "byte 0", what, remedy);
}

/// The names of an archive's members; an empty list where the archive is damaged or comes from a pipe.
std::vector<std::string> members_of(const std::filesystem::path& path) {
  try {
    if (is_zip(path)) return npz_members(path);
  } catch (const DataError&) {
  }
  return {};
}

/// A zip archive that is not read as such.
[[noreturn]] void refuse_zip(const ByteSource& source, const InputFile& file, InputKind kind) {
  const std::string path = python_path(file.path);
  const std::vector<std::string> members = members_of(file.path);
  if (std::any_of(members.begin(), members.end(), [](const auto& name) { return name.ends_with("data.pkl"); }))
    refuse(source, "a file of torch.save",
           "convert it with Python: import numpy, torch; t = torch.load(" + path + "); numpy.save('" +
               array_name(kind) + "', t.numpy())");
  if (members.empty() || file.path.extension() != ".npz")
    refuse(source, "this is a zip archive",
           "unpack it and name the file with the " + std::string(kind == InputKind::kEdges ? "edges" : "array"));
  std::string names;
  for (const std::string& name : members) names.append(names.empty() ? "" : ", ").append(name);
  refuse(source, "a zip archive of the arrays " + names,
         "name the one that is meant, as in " + file.path.string() + "[" + members[0] + "]");
}

bool is_gml(std::string_view head) {
  for (std::size_t at = head.find("graph"); at != std::string_view::npos; at = head.find("graph", at + 1)) {
    const std::size_t next = head.find_first_not_of(kBlanks, at + 5);
    if ((at == 0 || head[at - 1] == '\n') && next != std::string_view::npos && head[next] == '[') return true;
  }
  return false;
}

}  // namespace

void refuse_foreign_format(ByteSource& source, const InputFile& file, InputKind kind) {
  const std::string_view head = source.peek(kHeadBytes).substr(0, kHeadBytes);
  const std::string path = python_path(file.path);
  if (head.starts_with("PAR1"))
    refuse(source, "a Parquet file", with_frame("pandas", "pandas.read_parquet(" + path + ")", kind));
  if (head.starts_with("ARROW1"))
    refuse(source, "an Arrow file", with_frame("pandas", "pandas.read_feather(" + path + ")", kind));
  if (head.size() >= 8 && head.starts_with("\xff\xff\xff\xff"))
    refuse(source, "a stream of Arrow",
           with_frame("pyarrow.ipc", "pyarrow.ipc.open_stream(" + path + ").read_pandas()", kind));
  if (head.starts_with("\x89HDF\r\n"))
    refuse(source, "an HDF5 file",
           "save the array that is meant with Python: import h5py, numpy; a = h5py.File(" + path +
               ")['NAME'][:]; numpy.save('" + array_name(kind) + "', a)");
  if (head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5)
    refuse(source, "a pickle",
           "if it holds a graph of networkx, " +
               with_networkx("networkx, numpy, pickle", "pickle.load(open(" + path + ", 'rb'))", kind));
  if (head.starts_with("PK\x03\x04")) refuse_zip(source, file, kind);
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff"))
    refuse(source, "text in UTF-16, as its byte order mark says", "save it as UTF-8");

  const std::string_view text = head.substr(std::min(head.find_first_not_of("\xef\xbb\xbf \t\r\n"), head.size()));
  if (text.starts_with("<")) {
    const bool gexf = text.find("<gexf") != std::string_view::npos;
    if (!gexf && text.find("<graphml") == std::string_view::npos)
      refuse(source, "an XML file", "give text, .npy or Matrix Market");
    refuse(source, gexf ? "a GEXF file" : "a GraphML file",
           with_networkx("networkx, numpy", std::string("networkx.read_") + (gexf ? "gexf(" : "graphml(") + path + ")",
                         kind));
  }
  if (text.starts_with("{") || text.starts_with("["))
    refuse(source, "JSON",
           "if it is a graph of networkx, " +
               with_networkx("json, networkx, numpy", "networkx.node_link_graph(json.load(open(" + path + ")))", kind));
  if (is_gml(text))
    refuse(source, "a GML file", with_networkx("networkx, numpy", "networkx.read_gml(" + path + ")", kind));
}

}  // namespace unweave
