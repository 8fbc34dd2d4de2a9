// storage/input/input_file.h - a file that a user names, or an array in its place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace unweave {

class LineOrders;
struct MemoryArray;

/// Sets aside memory for a reader, as long as what it returns lives. Throws ResourceError.
using ChargeReader = std::function<std::shared_ptr<void>(std::uint64_t bytes)>;

/// Takes a sentence about what was read otherwise than it stands there.
using TakeRemark = std::function<void(const std::string& sentence)>;

/// Whether the first line of a text names its columns: where nobody says so, readers find out, or
/// ask.
enum class Header : std::uint8_t { ask, yes, no };

/// What line i of a text has to do with node i: nothing, as in a list of edges; it is its row, or
/// its name.
enum class LinesAre : std::uint8_t { any, rows, names };

/// A file that the user names: a path, a folder with the parts of a table, "-" for standard input,
/// or one member of a zip or .npz archive; or an array in memory.
struct InputFile {
  std::filesystem::path path;
  std::string member;     ///< empty: the whole file; else the member's name, with or without its ".npy"
  ChargeReader charge{};  ///< called with the window of a zstd file; empty: windows above kUsualWindow are refused
  TakeRemark remark{};    ///< called with each remark; empty: what would need a remark is refused
  std::shared_ptr<const MemoryArray> memory{};  ///< read in the place of a file, whose path is its name in messages
  std::string columns{};                        ///< empty: all; else those that are meant, as ColumnChoice reads them
  Header header = Header::ask;                  ///< that of a text
  bool words_are_data = false;                  ///< a line of words may be names, and so no header
  bool names_may_be_gone = false;               ///< a word that no node has as its name may be that of a removed node
  LinesAre lines_are = LinesAre::any;           ///< those of a text
  std::shared_ptr<LineOrders> orders{};  ///< those of the tables that are read beside it; empty: nobody compares them
  std::string header_key{};  ///< what messages name where the header may be said: "edges" for --header edges=yes
};

/// The file that a user's text names: a path, FILE.npz[MEMBER] for one array of an archive,
/// FILE[COLUMNS] for columns of a table, or FILE.npz[MEMBER][COLUMNS]. A file whose own name ends
/// so is meant itself where it is there.
[[nodiscard]] InputFile named_input(const std::string& text);

/// An array in memory as an input: it is read as a .npy file of it would be. `descr` is NumPy's
/// name of its type ("<i8"). `pieces`, one after another, hold the elements in C order, or in
/// Fortran order; they must stay as long as the input is read. `name` is for messages. Throws
/// UsageError where the pieces are not those of the shape.
[[nodiscard]] InputFile memory_input(std::string name, std::string_view descr, std::span<const std::uint64_t> shape,
                                     bool fortran_order, std::vector<std::span<const char>> pieces);

/// For messages: the path, "standard input", or "path[member]".
[[nodiscard]] std::filesystem::path display_name(const InputFile& file);

}  // namespace unweave
