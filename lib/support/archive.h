// A file of named parts with checksums, all in one piece. Lines of text first, so that `head` shows
// what it is:
//
//   HLO executable 1          what it is, and the version of its form
//   module 1234 9f86d081…     name, bytes and hash of each part, in order
//                             an empty line
//   …                         the bytes of the parts, one after the other
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo {

// Saved executables (backends/executable_file.h); their part `module` is HLO text.
inline constexpr std::string_view kExecutableArchive = "HLO executable 1";

struct ArchivePart {
  std::string name;  // without blanks
  std::string_view bytes;
};

// `kind` is the first line.
std::string PackArchive(std::string_view kind, const std::vector<ArchivePart>& parts);
// Whether the bytes begin like an archive of any version of the kind: `kind` without its number.
bool IsArchive(std::string_view kind, std::string_view bytes);
// Parts that point into `bytes`. Another version, a part that is not whole, or one whose bytes have
// changed, is an error.
absl::StatusOr<std::vector<ArchivePart>> UnpackArchive(std::string_view kind,
                                                       std::string_view bytes);

}  // namespace hlo
