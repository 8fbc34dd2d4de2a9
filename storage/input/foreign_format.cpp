// storage/input/foreign_format.cpp - recognises other formats by their first bytes and says how
// Python converts them.
#include "storage/input/foreign_format.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "storage/input/words/line_reader.h"
#include "storage/io/error.h"
#include "storage/io/small_letters.h"

namespace unweave {

namespace {

constexpr std::size_t kHeadBytes = std::size_t{64} << 10;
constexpr std::string_view kBlanks = " \t\r\n";

std::string array_name(InputKind kind) {
  return kind == InputKind::kEdges      ? "edges.npy"
         : kind == InputKind::kFeatures ? "features.npy"
         : kind == InputKind::kLabels   ? "labels.npy"
                                        : "ids.npy";
}

constexpr const char* kConvert = "convert it with Python: ";

/// A frame of pandas as a table, or as an array of features. What stands behind # is for whoever
/// reads the line.
std::string with_frame(const std::string& modules, const std::string& reading, InputKind kind) {
  const std::string start = kConvert + std::string("import ") + modules;
  const auto table = [&](const std::string& file, const std::string& option_text) {
    return start + "; " + reading + ".to_csv('" + file + "', index=False)  # then " + option_text;
  };
  switch (kind) {
    case InputKind::kEdges:
      return table("edges.csv", option("edges", "'edges.csv[SOURCE,TARGET]'") + ", by the names of its columns");
    case InputKind::kLabels:
      return table("labels.csv", option("labels", "'labels.csv[COLUMN]'"));
    case InputKind::kNodeIds:
      return table("ids.csv", "'ids.csv[COLUMN]'");
    case InputKind::kFeatures:
      break;
  }
  return start + ", numpy; numpy.save('features.npy', " + reading + ".to_numpy('float32'))  # then " +
         option("features", "features.npy") + ", or 'features.npy[1:]' without a first column of ids";
}

/// Lines of edges `E` between nodes `ids`, all names in quotes, so that blanks and commas are part
/// of them, and their weights `w` behind them where one is not 1. Nodes of the numbers 0, 1, 2, ..
/// come in their order, which other files have.
std::string write_named_edges() {
  return "E = [(str(u), str(v), x)[:3 if set(w) - {1} else 2] for (u, v), x in zip(E, w)]; "
         "csv.writer(open('ids.csv', 'w'), quoting=csv.QUOTE_ALL).writerows([n] for n in (sorted(ids) if set(ids) == set(range(len(ids))) else ids)); "
         "csv.writer(open('edges.csv', 'w'), quoting=csv.QUOTE_NONNUMERIC).writerows(E)  # then " +
         option("edges", "edges.csv") + " and " + option("ids", "ids.csv");
}

/// Adds up the weights `w` of edges `E` that a graph has more than once, where `is_multigraph` says
/// that it may, and one is not 1.
std::string add_up_weights(const std::string& is_multigraph) {
  return "M = " + is_multigraph +
         " and set(w) - {1}; S = {}; M and list(map(lambda e, x: S.update({e: S.get(e, 0) + x}), E, w)); "
         "E, w = (list(S), list(S.values())) if M else (E, w); ";
}

std::string with_networkx(const std::string& modules, const std::string& reading, InputKind kind) {
  if (kind != InputKind::kEdges) return "write it with numpy.save('" + array_name(kind) + "', ...)";
  return kConvert + std::string("import csv, ") + modules + "; G = " + reading +
         "; ids = list(G); E = [e[:2] for e in G.edges]; w = [d.get('weight', d.get('value', 1)) for *_, d in G.edges(data=True)]; " +
         add_up_weights("G.is_multigraph()") + write_named_edges();
}

/// Nodes and links as programs write them: links by ids of nodes or by their places, which where
/// both could be meant is an error.
std::string with_links(const std::string& path, InputKind kind) {
  if (kind != InputKind::kEdges)
    return "read it with Python's json, and write the array with numpy.save('" + array_name(kind) + "', ...)";
  return kConvert + std::string("import csv, json; G = json.load(open(") + path +
         ")); ids = [n.get('id', n.get('name')) for n in G['nodes']]; "
         "L = G.get('links', G.get('edges')); E = [(l['source'], l['target']) for l in L]; "
         "w = [l.get('weight', l.get('value', 1)) for l in L]; "
         "ends = [e for l in E for e in l]; names = set(ids); "
         "by_id = all(e in names for e in ends); "
         "by_place = 'multigraph' not in G and all(type(e) is int and 0 <= e < len(ids) for e in ends); "
         "assert by_id != by_place or ids == list(range(len(ids))), 'ends of links may be ids or places of nodes: "
         "leave this assert out where they are ids, and write by_id = False in its place where they are places'; "
         "E = E if by_id else [(ids[s], ids[t]) for s, t in E]; " +
         add_up_weights("G.get('multigraph')") + write_named_edges();
}

[[noreturn]] void refuse(const ByteSource& source, const std::string& what, const std::string& remedy) {
  throw InputError(source.name(), "byte 0", what, remedy);
}

/// The names of an archive's members; an empty list where the archive is damaged or comes from a
/// pipe.
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
           kConvert + std::string("import numpy, torch; t = torch.load(") + path + "); numpy.save('" +
               array_name(kind) + "', t.numpy())");
  if (members.empty() || file.path.extension() != ".npz")
    refuse(source, "this is a zip archive",
           "unpack it and name the file with the " + std::string(kind == InputKind::kEdges ? "edges" : "array"));
  constexpr std::size_t kTold = 12;
  std::string names;
  for (std::size_t i = 0; i < std::min(members.size(), kTold); ++i) names.append(i == 0 ? "" : ", ").append(members[i]);
  if (members.size() > kTold) names += " and " + std::to_string(members.size() - kTold) + " more";
  refuse(source, "a zip archive of the arrays " + names,
         "name the one that is meant, as in " + file.path.string() + "[" + members[0] + "]");
}

/// Whether a text begins with a word, whatever its case, that `behind` follows.
bool begins(std::string_view text, std::string_view word, std::string_view behind = " \t\r\n") {
  if (text.size() <= word.size() || behind.find(text[word.size()]) == std::string_view::npos) return false;
  return std::equal(word.begin(), word.end(), text.begin(), [](char w, char c) { return w == small(c); });
}

/// Whether the first line that is no remark, which DIMACS begins with c, tells the sizes of a
/// problem: p edge 34 78.
bool is_dimacs(std::string_view text) {
  while (begins(text, "c")) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return begins(text, "p", " ") && text.size() > 2 && text[2] >= 'a' && text[2] <= 'z';
}

/// Whether the first line is a label and pairs PLACE:VALUE.
bool is_svmlight(std::string_view text) {
  Fields fields(text.substr(0, text.find('\n')));
  double label = 0;
  if (fields.number(label) != std::errc()) return false;
  const std::string_view pair = fields.take();
  const std::size_t colon = pair.find(':');
  return colon != std::string_view::npos && colon > 0 && pair.find_first_not_of("0123456789") == colon;
}

/// Texts that tell by their first words what they are.
void refuse_foreign_text(const ByteSource& source, std::string_view text, const std::string& path, InputKind kind) {
  if (text.find('\r') < text.size() - 1 && text.find('\n') == std::string_view::npos)
    refuse(source, "lines that end in a carriage return alone",
           "end them in line feeds, by: tr '\\r' '\\n' < OLD > NEW");
  if (text.starts_with("version https://git-lfs"))
    refuse(source, "a pointer of Git LFS in the place of the file", "fetch the file itself, by: git lfs pull");
  if (begins(text, "<!doctype", " ") || begins(text, "<html", " >"))
    refuse(source, "a page of HTML, as a server sends it in the place of a file", "fetch the file itself");
  const std::string_view line = text.substr(0, text.find('\n'));
  if (text.starts_with("<http") && line.find("> <") != std::string_view::npos)
    refuse(source, "triples of RDF",
           "write the two ends of each edge on a line, and their names to a file, " + option("ids"));
  if (kind == InputKind::kFeatures && is_svmlight(text))
    refuse(source, "features in the format of svmlight",
           kConvert +
               std::string("import scipy.sparse, sklearn.datasets; "
                           "scipy.sparse.save_npz('features.npz', sklearn.datasets.load_svmlight_file(") +
               path + ")[0])  # then " + option("features", "features.npz"));
  if (kind != InputKind::kEdges) return;
  if (begins(text, "*vertices") || begins(text, "*network"))
    refuse(source, "a Pajek file",
           with_networkx("networkx; assert not any(l.lower().startswith(('*edgeslist', '*arcslist')) for l in open(" +
                             path + ")), 'lists of neighbours, which networkx does not read: write pairs under *Edges'",
                         "networkx.read_pajek(" + path + ")", kind));
  if (is_dimacs(text))
    refuse(source, "a graph of DIMACS, whose nodes count from 1",
           kConvert + std::string("import csv; L = [l.split() for l in open(") + path +
               ")]; ids = range(1, 1 + next(int(l[2]) for l in L if l[:1] == ['p'])); "
               "A = [l[1:] for l in L if l[:1] in (['e'], ['a'])]; E = [a[:2] for a in A]; "
               "w = [int((a + ['1'])[2]) for a in A]; " +
               write_named_edges());
  if (begins(text, "dl"))
    refuse(source, "a DL file of UCINET",
           "write its edges as text, the names of two nodes a line, and these to a file, " + option("ids"));
  if (begins(text, "digraph", " {\n\r\t\"") || begins(text, "strict") ||
      (begins(text, "graph", " {\n\r\t\"") && line.find('{') != std::string_view::npos))
    refuse(source, "a file of Graphviz (DOT)",
           "write its edges as text, the names of two nodes a line, and these to a file, " + option("ids"));
}

bool is_gml(std::string_view head) {
  for (std::size_t at = head.find("graph"); at != std::string_view::npos; at = head.find("graph", at + 1)) {
    const std::size_t next = head.find_first_not_of(kBlanks, at + 5);
    if ((at == 0 || head[at - 1] == '\n') && next != std::string_view::npos && head[next] == '[') return true;
  }
  return false;
}

}  // namespace

std::string python_path(const std::filesystem::path& path) {
  const std::string text = path.string();
  const char quote = text.find('\'') == std::string::npos ? '\'' : '"';
  const bool plain = path != "-" && std::none_of(text.begin(), text.end(), [&](char c) {
                       return c == quote || c == '\\' || static_cast<unsigned char>(c) < ' ';
                     });
  return quote + (plain ? text : std::string("FILE")) + quote;
}

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
               with_networkx("networkx, pickle", "pickle.load(open(" + path + ", 'rb'))", kind));
  if (head.starts_with("PK\x03\x04")) refuse_zip(source, file, kind);
  if (head.starts_with("BZh"))
    refuse(source, "compressed by bzip2", "decompress it with bunzip2, or compress it with gzip or zstd instead");
  if (head.starts_with("\xfd"
                       "7zXZ"))
    refuse(source, "compressed by xz", "decompress it with unxz, or compress it with gzip or zstd instead");
  constexpr std::size_t kTarMark = 257;
  if (head.size() > kTarMark + 5 && head.substr(kTarMark, 5) == "ustar")
    refuse(source, "a tar archive",
           "unpack it with tar -xf, and name the file with the " +
               std::string(kind == InputKind::kEdges ? "edges" : "array"));
  if (head.starts_with("MATLAB 5.0 MAT-file"))
    refuse(
        source, "a MAT-file of MATLAB",
        kind == InputKind::kEdges
            ? kConvert + std::string("import scipy.io, scipy.sparse; M = scipy.io.loadmat(") + path +
                  "); names = [k for k, v in M.items() if k[0] != '_' and v.ndim == 2 and v.shape[0] == v.shape[1] > 1]; "
                  "assert len(names) == 1, f'square matrices are {names}: write names = [one of them] before this'; "
                  "scipy.sparse.save_npz('edges.npz', scipy.sparse.csr_matrix(M[names[0]]))  # then " +
                  option("edges", "edges.npz")
            : kConvert + std::string("import numpy, scipy.io; numpy.save('") + array_name(kind) +
                  "', scipy.io.loadmat(" + path + ")['NAME'])");
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff"))
    refuse(source, "text in UTF-16, as its byte order mark says", "save it as UTF-8");

  const std::string_view text = head.substr(std::min(head.find_first_not_of("\xef\xbb\xbf \t\r\n"), head.size()));
  refuse_foreign_text(source, text, path, kind);
  if (text.starts_with("<")) {
    const bool gexf = text.find("<gexf") != std::string_view::npos;
    if (!gexf && text.find("<graphml") == std::string_view::npos)
      refuse(source, "an XML file", "give text, .npy or Matrix Market");
    refuse(source, gexf ? "a GEXF file" : "a GraphML file",
           with_networkx("networkx", std::string("networkx.read_") + (gexf ? "gexf(" : "graphml(") + path + ")", kind));
  }
  if (text.starts_with("{") && kind == InputKind::kEdges) {
    const bool is_of_networkx = text.find("\"multigraph\"") != std::string_view::npos;
    const auto by = [&](const char* function) {
      return with_networkx("json, networkx", "networkx." + std::string(function) + "(json.load(open(" + path + ")))",
                           kind);
    };
    if (is_of_networkx && text.find("\"elements\"") != std::string_view::npos)
      refuse(source, "JSON of Cytoscape, as networkx.cytoscape_data() gives it", by("cytoscape_graph"));
    if (is_of_networkx && text.find("\"adjacency\"") != std::string_view::npos)
      refuse(source, "JSON of neighbours, as networkx.adjacency_data() gives it", by("adjacency_graph"));
  }
  if (text.starts_with("{") || text.starts_with("["))
    refuse(source, "JSON", (kind == InputKind::kEdges ? "if it has nodes and links, " : "") + with_links(path, kind));
  // Nodes have labels, which are their names, or ids alone.
  const std::string called = text.find("label") == std::string_view::npos ? ", label='id'" : "";
  if (is_gml(text))
    refuse(source, "a GML file", with_networkx("networkx", "networkx.read_gml(" + path + called + ")", kind));
}

}  // namespace unweave
