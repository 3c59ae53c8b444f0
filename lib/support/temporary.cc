#include "lib/support/temporary.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

#include "lib/support/hash.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

// A folder may be shared: another machine's processes are none of ours.
const std::string& Prefix() {
  static const auto& prefix = *new std::string([] {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return fmt::format(".hlo-tmp.{:08x}.", HashBytes(std::string_view(host)) & 0xffffffff);
  }());
  return prefix;
}

bool IsGone(pid_t process) { return kill(process, 0) != 0 && errno == ESRCH; }

void RemoveLeftOver(const std::string& folder) {
  const std::string& prefix = Prefix();
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    pid_t owner = 0;
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), owner);
    if (owner > 0 && IsGone(owner)) fs::remove_all(entry.path(), ignored);
  }
}

// Whether this process has not looked at `folder` so far. A process that makes a folder for each of
// many steps forgets: looking twice costs little.
bool IsNew(const std::string& folder) {
  constexpr size_t kMostRemembered = 64;
  static std::mutex mutex;
  static auto& seen = *new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (seen.size() >= kMostRemembered) seen.clear();
  return seen.insert(folder).second;
}

}  // namespace

std::string TemporaryPattern(const std::string& folder) {
  if (IsNew(folder)) RemoveLeftOver(folder);
  return fmt::format("{}/{}{}.XXXXXX", folder, Prefix(), getpid());
}

std::string FolderOfFile(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

absl::StatusOr<std::unique_ptr<TemporaryFolder>> TemporaryFolder::Make() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return Error("cannot make a temporary folder: {}", error.message());
  std::string path = TemporaryPattern(parent.string());
  if (mkdtemp(path.data()) == nullptr)
    return Error("cannot make a folder in `{}`: {}", parent.string(), std::strerror(errno));
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(std::move(path)));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace hlo
