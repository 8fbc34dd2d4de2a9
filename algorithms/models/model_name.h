// algorithms/models/model_name.h - what the models of a store are called. A model bears the name of
// its solver unless it was given one of its own: so a store holds any number of models of one
// solver.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace unweave {

struct Manifest;

/// A file, or with an empty extension the folder, of the model of this name in a folder of its
/// store. Every path that a model's name is a part of is made here, so that no name leads out of
/// the folder: throws UsageError for what is no name.
[[nodiscard]] std::filesystem::path file_of_model(const std::filesystem::path& store, const char* folder,
                                                  std::string_view name, const char* extension);

/// Throws UsageError for what cannot be the name of a model of this solver: other characters than
/// letters, digits, - and _, none or more than 64 of them, a - in front, or the name of another
/// solver.
void require_model_name(std::string_view name, std::string_view solver);

/// The names under which a store may hold models or certificates: those of all solvers in the order
/// of solver_names(), then all others that its folders or its manifest show, sorted.
[[nodiscard]] std::vector<std::string> model_names(const std::filesystem::path& store, const Manifest& manifest);

/// The option that selects a model, solver or name.
[[nodiscard]] std::string selecting(std::string_view name);
/// The options with which `train` makes it again: the solver, and the name where it is another.
[[nodiscard]] std::string selecting(std::string_view solver, std::string_view name);

}  // namespace unweave
