// tests/support/faults/store_checks.h - stores before and after a fault: made in children,
// compared, verified.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/faults/trial.h"
#include "support/store_fixture.h"

namespace unweave::testing {

/// The contents of a folder that a child works in.
[[nodiscard]] Tree tree_after(const std::function<void(const std::filesystem::path&)>& work, const Tree& before = {});
/// What a child returns that works there.
[[nodiscard]] std::string text_after(const Tree& before,
                                     const std::function<std::string(const std::filesystem::path&)>& work);

/// Enough, and small: what is set aside is touched.
[[nodiscard]] MemoryBudget& budget();
/// 60 nodes, 3 columns, 3 classes.
[[nodiscard]] Sample sample();
/// content_digest() as text.
[[nodiscard]] std::string digest_of(const std::filesystem::path& store);
/// What `verify` of everything finds.
[[nodiscard]] std::string findings_of(const std::filesystem::path& store);

/// Opens folder/s for writing, if there is a store; returns nothing.
std::string open_as_next_writer(const std::filesystem::path& folder);
/// The files of the store, after the next writer has removed what a fault left behind.
[[nodiscard]] Tree tidied(const std::filesystem::path& store);
/// Those below a folder, "s/", relative to it.
[[nodiscard]] Tree files_below(const Tree& tree, const std::string& folder);
/// Names and lengths, for messages.
[[nodiscard]] std::string names_of(const Tree& tree);
/// Gives the command once more where it is not done; what is wrong with the files then.
[[nodiscard]] std::string check_rerun(const std::filesystem::path& store, bool done,
                                      const std::vector<std::string>& words, const Tree& expected);
/// Lines that are whole: a last one that was never acknowledged may lack its end or anything else.
[[nodiscard]] std::vector<std::string> lines_of_text(const std::string& text);

}  // namespace unweave::testing
