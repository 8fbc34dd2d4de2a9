// tests/storage/io/entry_test.cpp - what lies at a path, and that no link on the way to it is
// followed.
#include "storage/io/entry.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "storage/io/file.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave::testing {
namespace {

namespace fs = std::filesystem;

/// A user's folder beside one of a store, in which `link` leads to the user's.
struct Beside {
  TempDir dir;
  fs::path user = dir / "user", store = dir / "store", link = store / "link";

  Beside() {
    fs::create_directory(user);
    fs::create_directory(store);
    write_file(user / "thesis", "years of work\n");
    fs::create_directory_symlink(user, link);
  }
};

/// Whether the call fails with an error that names the link.
void check_refused(const fs::path& link, const std::function<void()>& call) {
  try {
    call();
    FAIL("a link was followed");
  } catch (const DataError& error) {
    CHECK(std::string(error.what()).find(link.string() + ": it is a link") == 0);
  }
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("kinds of entries") {
    const Beside at;
    CHECK(status_of(at.user).kind == EntryKind::folder);
    CHECK(status_of(at.user / "thesis") == status_of(at.user / "thesis"));
    CHECK(status_of(at.user / "thesis").bytes == 14);
    CHECK(status_of(at.link).kind == EntryKind::link);
    CHECK(status_of(at.user / "none").kind == EntryKind::none);
    CHECK(status_of(at.user / "none" / "below").kind == EntryKind::none);
    CHECK(status_of(at.user / "thesis" / "below").kind == EntryKind::none);
    CHECK(status_of("/").kind == EntryKind::folder);
    CHECK(status_of("").kind == EntryKind::folder);  // the one at work in
    CHECK(status_of(at.store / ".." / "user" / "thesis").kind == EntryKind::file);
    CHECK(status_of(at.user.string() + "///").kind == EntryKind::folder);
    REQUIRE(::mkfifo((at.store / "pipe").c_str(), 0600) == 0);
    CHECK(status_of(at.store / "pipe").kind == EntryKind::other);
    CHECK_THROWS_AS(static_cast<void>(status_of(at.store / std::string(300, 'x'))), DataError);
  }

  TEST_CASE("no function goes through a link") {
    const Beside at;
    const fs::path thesis = at.link / "thesis";
    check_refused(at.link, [&] { static_cast<void>(status_of(thesis)); });
    CHECK_FALSE(try_status_of(thesis));
    check_refused(at.link, [&] { static_cast<void>(list_folder(at.link)); });
    check_refused(at.link, [&] { static_cast<void>(list_folder(at.link / "sub")); });
    check_refused(at.link, [&] { static_cast<void>(File::open_stored(thesis)); });
    check_refused(at.link, [&] { static_cast<void>(File::open_stored(at.link)); });
    CHECK_FALSE(File::try_open_stored(thesis).is_open());
    check_refused(at.link, [&] { static_cast<void>(File::open_write(thesis)); });
    check_refused(at.link, [&] { static_cast<void>(File::create(at.link / "new")); });
    check_refused(at.link, [&] { static_cast<void>(File::open_direct_to_read(thesis)); });
    check_refused(at.link, [&] { replace_file(thesis, "nothing"); });
    check_refused(at.link, [&] { make_folder(at.link / "sub"); });
    check_refused(at.link, [&] { make_folder(at.link); });
    check_refused(at.link, [&] { make_folders(at.link / "sub" / "below"); });
    check_refused(at.link, [&] { rename_entry(thesis, at.store / "taken"); });
    check_refused(at.link, [&] { rename_entry(at.store / "x", thesis); });
    check_refused(at.link, [&] { remove_entry(thesis); });
    check_refused(at.link, [&] { remove_tree(thesis); });
    check_refused(at.link, [&] { sync_directory(at.link); });
    check_refused(at.link, [&] {
      fs::path made;
      static_cast<void>(create_unique(at.link, "x-", made));
    });
    check_refused(at.link, [&] { static_cast<void>(make_unique_folder(at.link, "x-")); });
    CHECK_FALSE(drop_entry(thesis));
    CHECK_FALSE(drop_tree(thesis));
    CHECK_FALSE(try_link_entry(thesis, at.store / "other"));
    CHECK_FALSE(try_link_entry(at.store / "other", thesis));
    CHECK_FALSE(free_disk_bytes(at.link));
    CHECK(read_all(at.user / "thesis") == "years of work\n");
    CHECK(list_folder(at.user).size() == 1);
  }

  TEST_CASE("a link is removed, and what it leads to stays") {
    const Beside at;
    fs::create_directories(at.store / "deep" / "er");
    fs::create_symlink(at.user / "thesis", at.store / "deep" / "er" / "file");
    fs::create_directory_symlink(at.user, at.store / "deep" / "folder");
    remove_tree(at.store / "deep");
    CHECK_FALSE(has_entry(at.store / "deep"));
    CHECK(remove_entry(at.link));
    CHECK_FALSE(remove_entry(at.link));
    CHECK(drop_tree(at.link));
    CHECK(read_all(at.user / "thesis") == "years of work\n");
  }

  TEST_CASE("a tree of many files, and one that is too deep") {
    const TempDir dir;
    fs::create_directories(dir / "many" / "sub");
    for (int i = 0; i < 1000; ++i) write_file(dir / "many" / (i % 2 == 0 ? "" : "sub") / std::to_string(i), "x");
    std::size_t files = 0;
    walk_folder(dir / "many", [&](const Entry& entry) { files += entry.kind == EntryKind::file ? 1 : 0; });
    CHECK(files == 1000);
    remove_tree(dir / "many");
    CHECK_FALSE(has_entry(dir / "many"));
    fs::path deep = dir / "deep";
    for (int i = 0; i < 80; ++i) deep /= "d";
    fs::create_directories(deep);
    CHECK_THROWS_AS(remove_tree(dir / "deep"), DataError);
    CHECK_FALSE(drop_tree(dir / "deep"));
  }

  TEST_CASE("devices and pipes are not opened") {
    const Beside at;
    REQUIRE(::mkfifo((at.store / "pipe").c_str(), 0600) == 0);
    CHECK_THROWS_AS(static_cast<void>(File::open_stored(at.store / "pipe")), DataError);
    CHECK_THROWS_AS(static_cast<void>(File::open_write(at.store / "pipe")), DataError);
    CHECK_THROWS_AS(static_cast<void>(File::open_stored("/dev/null")), DataError);
    CHECK_THROWS_AS(static_cast<void>(open_entry(at.store / "pipe", O_RDWR | O_CREAT, 0600)), DataError);
    CHECK_THROWS_AS(static_cast<void>(File::open_write(at.store)), DataError);
  }

  TEST_CASE("links of the user's own are taken out of a path where it comes in") {
    const Beside at;
    CHECK(resolved(at.user / "thesis") == at.user / "thesis");
    CHECK(resolved(at.link / "thesis") == at.user / "thesis");
    CHECK(resolved(at.link) == at.user);
    CHECK(resolved(at.link / "new" / "folder") == at.user / "new" / "folder");
    CHECK(resolved_parent(at.link / "new") == at.user / "new");
    CHECK(resolved_parent(at.link) == at.link);  // that is to be written, and a link is refused
    CHECK(resolved_parent("file") == fs::path("file"));
    CHECK(File::open_stored(resolved(at.link / "thesis")).size() == 14);
    fs::create_symlink("nowhere", at.store / "dangling");
    check_refused(at.store / "dangling", [&] { static_cast<void>(list_folder(resolved(at.store / "dangling"))); });
  }

  TEST_CASE("names of one's own") {
    const TempDir dir;
    fs::path one, other;
    const int first = create_unique(dir.path(), "x-", one), second = create_unique(dir.path(), "x-", other);
    CHECK(one != other);
    CHECK((fs::status(one).permissions() & fs::perms::all) == (fs::perms::owner_read | fs::perms::owner_write));
    ::close(first);
    ::close(second);
    const fs::path folder = make_unique_folder(dir.path(), "y-");
    CHECK(is_folder(folder));
    CHECK(folder != make_unique_folder(dir.path(), "y-"));
    CHECK((fs::status(folder).permissions() & fs::perms::all) == fs::perms::owner_all);
  }
}

}  // namespace unweave::testing
