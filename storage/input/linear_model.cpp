// storage/input/linear_model.cpp - which shape is what, and where each number of it goes.
#include "storage/input/linear_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <span>
#include <utility>

#include "storage/input/bytes/byte_source.h"
#include "storage/input/bytes/npy.h"
#include "storage/input/bytes/only_members.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"
#include "storage/io/message.h"
#include "storage/npy/npy_header.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "elements are copied as they lie in the file");

constexpr std::size_t kMostHeader = std::size_t{1} << 16;  // bytes of a .safetensors header: ours has two tensors

/// An array of float64 in C order, and where it came from.
struct Numbers {
  fs::path name;
  std::vector<std::uint64_t> shape;
  std::vector<double> values;
};

std::string by(std::uint64_t rows, std::uint64_t columns) {
  return std::to_string(rows) + " x " + std::to_string(columns);
}

std::string index_text(const std::vector<std::uint64_t>& shape, std::uint64_t flat) {
  if (shape.size() == 2)
    return "row " + std::to_string(flat / shape[1]) + ", column " + std::to_string(flat % shape[1]);
  return "element " + std::to_string(flat);
}

void require_usable(const Numbers& numbers) {
  for (std::size_t k = 0; k < numbers.values.size(); ++k) {
    const double value = numbers.values[k];
    if (std::abs(value) <= kLargestWeight) continue;
    const bool number = std::isfinite(value);
    throw InputError(numbers.name, index_text(numbers.shape, k),
                     number ? "a weight above 10^15 in size" : "a weight that is no finite number",
                     number ? "divide rows and weights by a common scale, or learn the model again"
                            : "learn the model again, with a smaller step or more regularisation");
  }
}

/// Whether the array has one of these shapes; that of a scalar is empty.
bool is_one_of(const std::vector<std::uint64_t>& shape, std::initializer_list<std::vector<std::uint64_t>> wanted) {
  return std::find(wanted.begin(), wanted.end(), shape) != wanted.end();
}

std::string shapes_text(const LinearShape& shape) {
  return by(shape.classes, shape.width) + " (classes x numbers of a row of the embedding)";
}

[[noreturn]] void refuse_shape(const fs::path& name, const std::string& found, const std::string& wanted,
                               const std::string& remedy) {
  throw InputError(name, "shape " + found, "the store needs " + wanted, remedy);
}

/// Throws for the weights of a model of another number of classes: rows, or columns, as long as
/// those of the embedding, with an intercept or without. A single one tells two classes apart.
void require_classes(const fs::path& name, const std::vector<std::uint64_t>& found, const LinearShape& shape) {
  const auto is_width = [&](std::uint64_t extent) { return extent == shape.width || extent == shape.width + 1; };
  std::uint64_t rows = 1;
  if (found.size() == 2 && is_width(found[1]))
    rows = found[0];
  else if (found.size() == 2 && is_width(found[0]))
    rows = found[1];
  else if (found.size() != 1 || !is_width(found[0]))
    return;
  const std::uint64_t classes = rows == 1 ? 2 : rows;
  if (rows == 0 || classes == shape.classes) return;
  const std::string all = std::to_string(shape.classes);
  throw InputError(
      name, "shape " + npy_shape_text(found),
      std::string(rows == 1 ? "one row of weights tells 2 classes apart"
                            : "these are weights of " + std::to_string(classes) + " classes") +
          ", and the store has " + all + "; it needs " + shapes_text(shape),
      "train the model on rows and labels of all " + all + " classes, as " +
          operation("export " + option("embeddings")) + " and " + operation("export " + option("labels")) +
          " write them" +
          (rows == 1 || classes > shape.classes ? ""
                                                : ", or save which of them its rows are: numpy.savez('W.npz', coef=W, "
                                                  "intercept=b, classes=clf.classes_)"));
}

/// Reads an array of a shape that was found right, whatever its order in the file.
Numbers read_numbers(NpyReader& reader) {
  const NpyHeader& header = reader.header();
  if (header.kind != 'f' || header.item_bytes < sizeof(float))
    throw InputError(reader.name(), ".npy header", "weights must be float32 or float64",
                     "convert the array with a.astype('float64')");
  Numbers out{reader.name(), header.shape, std::vector<double>(header.elements)};
  for (std::size_t done = 0; done < out.values.size();) done += reader.read(std::span(out.values).subspan(done));
  if (header.fortran_order) {  // it has two dimensions: those with more were refused
    const std::vector<double> by_columns = std::exchange(out.values, std::vector<double>(header.elements));
    const std::uint64_t rows = header.shape[0], columns = header.shape[1];
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < columns; ++j) out.values[i * columns + j] = by_columns[j * rows + i];
  }
  require_usable(out);
  return out;
}

/// R rows of intercepts, from R numbers, or from none where a single 0 says that there are none.
std::vector<double> intercepts_of(const Numbers& numbers, std::uint64_t rows) {
  if (numbers.values.size() == rows) return numbers.values;
  if (numbers.values.size() == 1 && numbers.values[0] == 0) return {};
  throw InputError(numbers.name, "element 0",
                   "one intercept that is not 0, and " + std::to_string(rows) + " rows of weights",
                   "save one intercept a row");
}

/// One row a class, in the order of classes: rows[k] says which class row k of `coefficients` is.
LinearModel arrange(const LinearShape& shape, std::span<const double> coefficients, std::span<const double> intercepts,
                    std::span<const std::uint64_t> rows) {
  LinearModel out;
  out.coefficients.assign(shape.classes * shape.width, 0);
  if (!intercepts.empty()) out.intercepts.assign(shape.classes, 0);
  std::vector<bool> present(shape.classes);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    std::copy_n(coefficients.begin() + static_cast<std::ptrdiff_t>(k * shape.width), shape.width,
                out.coefficients.begin() + static_cast<std::ptrdiff_t>(rows[k] * shape.width));
    if (!intercepts.empty()) out.intercepts[rows[k]] = intercepts[k];
    present[rows[k]] = true;
  }
  for (std::uint64_t c = 0; c < shape.classes; ++c)
    if (!present[c]) out.missing.push_back(c);
  return out;
}

/// Rows that are classes 0, 1, ..., or with a single row of two classes class 1.
LinearModel arrange(const LinearShape& shape, std::span<const double> coefficients, std::span<const double> intercepts,
                    std::uint64_t rows) {
  std::vector<std::uint64_t> classes;
  const bool one_row = rows == 1 && shape.classes == 2;
  for (std::uint64_t c = 0; c < rows; ++c) classes.push_back(one_row ? 1 : c);
  LinearModel out = arrange(shape, coefficients, intercepts, classes);
  out.one_row = one_row;
  if (one_row) out.missing.clear();
  return out;
}

/// What a shape of a .npy file may stand for.
struct Reading {
  std::uint64_t rows;
  bool transposed, intercepts;
};

std::vector<Reading> readings_of(const std::vector<std::uint64_t>& found, const LinearShape& shape, bool beside) {
  std::vector<Reading> readings;
  for (const std::uint64_t rows : {shape.classes, std::uint64_t{1}}) {
    if (rows == 1 && shape.classes != 2) continue;
    for (const bool intercepts : {false, true}) {
      if (intercepts && beside) continue;
      const std::uint64_t columns = shape.width + (intercepts ? 1 : 0);
      if (is_one_of(found, {{rows, columns}})) readings.push_back({rows, false, intercepts});
      if (is_one_of(found, {{columns, rows}})) readings.push_back({rows, true, intercepts});
    }
  }
  return readings;
}

LinearModel read_npy_model(const fs::path& file, const LinearShape& shape,
                           const std::optional<fs::path>& intercept_file) {
  NpyReader reader(InputFile{file, {}});
  const std::vector<std::uint64_t>& found = reader.header().shape;
  const std::vector<Reading> readings = readings_of(found, shape, intercept_file.has_value());
  if (readings.empty()) {
    require_classes(reader.name(), found, shape);
    refuse_shape(reader.name(), reader.header().shape_text(),
                 shapes_text(shape) + ", a last column of intercepts more, or either transposed",
                 "train the model on rows that " + operation("export " + option("embeddings")) +
                     " wrote of this store, with its classes; where rows have other blocks, say so by " +
                     option("rows-of"));
  }
  if (readings.size() > 1)
    refuse_shape(reader.name(), reader.header().shape_text(),
                 shapes_text(shape) + ", and an array of this shape may be that or its transpose",
                 "save it with names instead: numpy.savez('W.npz', coef=W, intercept=b), W with one row a class");
  const Reading& as = readings.front();
  const Numbers numbers = read_numbers(reader);
  std::vector<double> coefficients(as.rows * shape.width), intercepts(as.intercepts ? as.rows : 0);
  const std::uint64_t columns = shape.width + (as.intercepts ? 1 : 0);
  for (std::uint64_t i = 0; i < as.rows; ++i)
    for (std::uint64_t j = 0; j < columns; ++j) {
      const double value = numbers.values[as.transposed ? j * as.rows + i : i * columns + j];
      (j < shape.width ? coefficients[i * shape.width + j] : intercepts[i]) = value;
    }
  if (intercept_file) {
    NpyReader beside(InputFile{*intercept_file, {}});
    if (!is_one_of(beside.header().shape, {{as.rows}, {as.rows, 1}, {1, as.rows}, {1}, {}}))
      refuse_shape(beside.name(), beside.header().shape_text(),
                   std::to_string(as.rows) + " intercepts, one a row of " + file.string(),
                   "save one number a row of the weights");
    intercepts = intercepts_of(read_numbers(beside), as.rows);
  }
  LinearModel out = arrange(shape, coefficients, intercepts, as.rows);
  out.form = by(found[0], found[1]) + (as.transposed ? ", transposed" : "") +
             (as.intercepts ? std::string(", intercepts in the last ") + (as.transposed ? "row" : "column") : "");
  return out;
}

/// The first of these names that the archive has; none where it has none of them.
std::optional<std::string> member_of(const std::vector<std::string>& members,
                                     std::initializer_list<const char*> names) {
  for (const char* const name : names)
    if (std::find(members.begin(), members.end(), name) != members.end()) return name;
  return std::nullopt;
}

/// The class of each row, ascending or not, each once.
std::vector<std::uint64_t> read_classes(const fs::path& file, const std::string& member, const LinearShape& shape) {
  NpyReader reader(InputFile{file, member});
  const NpyHeader& header = reader.header();
  if (header.kind == 'U' || header.kind == 'S')
    throw InputError(
        reader.name(), ".npy header", "these are names of classes",
        "save their numbers, numpy.array([names.index(name) for name in clf.classes_]), with the names in the order in which " +
            operation("info") + " lists them");
  reader.require_integers("classes");
  if (header.shape.size() != 1 || header.elements > shape.classes)
    refuse_shape(reader.name(), header.shape_text(),
                 "at most " + std::to_string(shape.classes) + " classes in one dimension",
                 "save the classes that the rows speak of, clf.classes_");
  std::vector<std::int64_t> read(header.elements);
  reader.read(std::span<std::int64_t>(read));
  std::vector<std::uint64_t> out;
  for (std::size_t k = 0; k < read.size(); ++k) {
    if (read[k] < 0 || static_cast<std::uint64_t>(read[k]) >= shape.classes ||
        std::find(out.begin(), out.end(), static_cast<std::uint64_t>(read[k])) != out.end())
      throw InputError(reader.name(), "element " + std::to_string(k),
                       "class " + std::to_string(read[k]) + " is listed twice, or is none of the store's, 0 to " +
                           std::to_string(shape.classes - 1),
                       "train the model on the labels that " + operation("export " + option("labels")) + " wrote");
    out.push_back(static_cast<std::uint64_t>(read[k]));
  }
  return out;
}

LinearModel read_npz_model(const fs::path& file, const LinearShape& shape) {
  const std::vector<std::string> members = npz_members(file);
  const std::optional<std::string> weight = member_of(members, {"coef_", "coef", "weight"}),
                                   bias = member_of(members, {"intercept_", "intercept", "bias"}),
                                   named = member_of(members, {"classes_", "classes"});
  if (!weight) {
    std::string present;
    for (const std::string& member : members) present += (present.empty() ? "" : ", ") + member.substr(0, 40);
    throw InputError(file, "archive", "it holds no array coef, but " + (present.empty() ? "nothing" : present),
                     "save a model of scikit-learn with numpy.savez('W.npz', coef=clf.coef_, "
                     "intercept=clf.intercept_), one of PyTorch with safetensors.torch.save_file");
  }
  std::vector<std::string> read{*weight};
  for (const auto& one : {bias, named})
    if (one) read.push_back(*one);
  require_only(file, members, read);
  std::optional<std::vector<std::uint64_t>> classes;
  if (named) classes = read_classes(file, *named, shape);
  NpyReader reader(InputFile{file, *weight});
  const std::vector<std::uint64_t>& found = reader.header().shape;
  // scikit-learn keeps a single row for two classes, though it names both.
  const bool one_row =
      found == std::vector<std::uint64_t>{1, shape.width} && shape.classes == 2 && (!classes || classes->size() == 2);
  const std::uint64_t rows = one_row ? 1 : classes ? classes->size() : shape.classes;
  if (found != std::vector<std::uint64_t>{rows, shape.width}) {
    if (!classes || found == std::vector<std::uint64_t>{1, shape.width}) require_classes(reader.name(), found, shape);
    refuse_shape(reader.name(), reader.header().shape_text(),
                 by(rows, shape.width) + " (" + (classes ? "classes of " + *named : "classes") +
                     " x numbers of a row of the embedding)",
                 classes ? "save the classes that the rows speak of"
                         : "save the intercepts as an array intercept of their own, and add classes=clf.classes_ where "
                           "the model lacks some of the classes");
  }
  const Numbers numbers = read_numbers(reader);
  std::vector<double> intercepts;
  if (bias) {
    NpyReader beside(InputFile{file, *bias});
    if (!is_one_of(beside.header().shape, {{rows}, {rows, 1}, {1, rows}, {1}, {}}))
      refuse_shape(beside.name(), beside.header().shape_text(),
                   std::to_string(rows) + " intercepts, one a row of " + *weight, "save clf.intercept_");
    intercepts = intercepts_of(read_numbers(beside), rows);
  }
  LinearModel out = classes && !one_row ? arrange(shape, numbers.values, intercepts, *classes)
                                        : arrange(shape, numbers.values, intercepts, rows);
  out.form = *weight + ", " + by(found[0], found[1]) + (intercepts.empty() ? "" : ", and " + *bias);
  return out;
}

/// What the header says of one tensor.
struct Tensor {
  std::vector<std::uint64_t> shape;
  std::uint64_t item_bytes = 0, first = 0, last = 0;  ///< bytes [first, last) behind the header
};

/// A .safetensors file, read front to back.
class Safetensors {
 public:
  explicit Safetensors(const fs::path& file) : source_(InputFile{file, {}}) {
    const std::string_view start = source_.peek(sizeof(std::uint64_t));
    if (start.size() < sizeof(std::uint64_t)) fail("byte 0", "the file ends in its first number");
    std::uint64_t length = 0;
    std::memcpy(&length, start.data(), sizeof length);
    if (length > kMostHeader)
      fail("byte 0", "the header claims more than 64 KiB, " + std::to_string(length) + " bytes");
    const std::string_view whole = source_.peek(sizeof length + length);
    if (whole.size() < sizeof length + length) fail("header", "the file ends in it");
    const std::string_view text = whole.substr(sizeof length, length);  // tensors stand behind it
    try {
      header_ = parse_json<nlohmann::json>(text);
    } catch (const std::exception& error) {
      fail("header", fault_of(error));
    }
    if (!header_.is_object()) fail("header", "this is no JSON object");
    source_.consume(sizeof length + length);
  }

  [[nodiscard]] std::optional<Tensor> find(const char* name) const {
    if (!header_.contains(name)) return std::nullopt;
    Tensor out;
    try {
      const nlohmann::json& tensor = header_.at(name);
      const auto& type = tensor.at("dtype").get_ref<const std::string&>();
      out.item_bytes = type == "F32" ? sizeof(float) : type == "F64" ? sizeof(double) : 0;
      if (out.item_bytes == 0) fail(place_of(name), type.substr(0, 20) + ": weights must be F32 or F64");
      for (const nlohmann::json& extent : tensor.at("shape")) out.shape.push_back(whole_number<std::uint32_t>(extent));
      out.first = whole_number<std::uint64_t>(tensor.at("data_offsets").at(0));
      out.last = whole_number<std::uint64_t>(tensor.at("data_offsets").at(1));
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      fail(place_of(name), fault_of(error));
    }
    return out;
  }

  void require_no_others() const {
    for (const auto& [name, tensor] : header_.items())
      if (name != "weight" && name != "bias" && name != "__metadata__")
        fail("tensor " + name.substr(0, 40), "nothing here reads it, and another program may go by it");
  }

  /// Tensors are read in the order in which they lie.
  Numbers read(const char* name, const Tensor& tensor) {
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : tensor.shape) elements *= extent;  // no more than was found right
    if (tensor.first != at_ || tensor.last < tensor.first || tensor.last - tensor.first != elements * tensor.item_bytes)
      fail(place_of(name), "data_offsets do not fit the shape, or do not begin where the tensor before ends");
    std::vector<char> bytes(elements * tensor.item_bytes);
    if (source_.read(bytes) < bytes.size()) fail(place_of(name), "the file is cut short in its numbers");
    at_ = tensor.last;
    Numbers out{source_.name().string() + "[" + name + "]", tensor.shape, std::vector<double>(elements)};
    for (std::size_t k = 0; k < elements; ++k) {
      float single = 0;
      if (tensor.item_bytes == sizeof(float)) {
        std::memcpy(&single, bytes.data() + k * sizeof single, sizeof single);
        out.values[k] = static_cast<double>(single);
      } else {
        std::memcpy(&out.values[k], bytes.data() + k * sizeof(double), sizeof(double));
      }
    }
    require_usable(out);
    return out;
  }

  /// After the last tensor.
  void require_end() {
    if (!source_.peek(1).empty()) fail("byte " + std::to_string(at_) + " behind the header", "bytes of no tensor");
  }

  [[noreturn]] void fail(const std::string& place, const std::string& what) const {
    throw InputError(source_.name(), place, what,
                     "save it again with safetensors.torch.save_file(linear.state_dict(), F)");
  }
  static std::string place_of(const char* name) { return std::string("tensor ") + name; }

 private:
  ByteSource source_;
  nlohmann::json header_;
  std::uint64_t at_ = 0;  // bytes behind the header that were read
};

LinearModel read_safetensors_model(const fs::path& file, const LinearShape& shape) {
  Safetensors tensors(file);
  const std::optional<Tensor> weight = tensors.find("weight"), bias = tensors.find("bias");
  if (!weight) tensors.fail("header", "it has no tensor weight, as a torch.nn.Linear has");
  tensors.require_no_others();
  const std::uint64_t rows =
      weight->shape.size() == 2 && weight->shape[0] == 1 && shape.classes == 2 ? 1 : shape.classes;
  if (weight->shape != std::vector<std::uint64_t>{rows, shape.width}) {
    require_classes(file, weight->shape, shape);
    tensors.fail("tensor weight", "its shape is not " + shapes_text(shape));
  }
  if (bias && bias->shape != std::vector<std::uint64_t>{rows})
    tensors.fail("tensor bias", "its shape is not (" + std::to_string(rows) + ",)");
  Numbers coefficients, intercepts;
  const bool weight_first = !bias || weight->first < bias->first;
  if (weight_first) coefficients = tensors.read("weight", *weight);
  if (bias) intercepts = tensors.read("bias", *bias);
  if (!weight_first) coefficients = tensors.read("weight", *weight);
  tensors.require_end();
  LinearModel out = arrange(shape, coefficients.values, intercepts.values, rows);
  out.form = "weight, " + by(rows, shape.width) + (bias ? ", and bias" : "");
  return out;
}

}  // namespace

LinearModel read_linear_model(const fs::path& file, const LinearShape& shape,
                              const std::optional<fs::path>& intercepts) {
  const bool tensors = file.extension() == ".safetensors", archive = !tensors && is_zip(file);
  if (intercepts && (tensors || archive))
    throw UsageError(file.string() + ": a file with names has its intercepts beside the weights; leave " +
                     option("intercept") + " away");
  if (tensors) return read_safetensors_model(file, shape);
  return archive ? read_npz_model(file, shape) : read_npy_model(file, shape, intercepts);
}

}  // namespace unweave
