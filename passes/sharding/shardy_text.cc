#include "passes/sharding/shardy_text.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-' || c == '$';
}

class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  // Whether `token` comes next; it is read then.
  bool Take(std::string_view token) {
    SkipBlanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  absl::Status Expect(std::string_view token) {
    if (Take(token)) return absl::OkStatus();
    return Expected(token);
  }
  absl::Status ExpectEnd() {
    SkipBlanks();
    return at_ == text_.size() ? absl::OkStatus() : Expected("the end");
  }
  absl::Status Expected(std::string_view what) const {
    const std::string_view rest = text_.substr(at_, 20);
    return Error("character {}: expected `{}`, found {}", at_ + 1, what,
                 rest.empty() ? "the end" : fmt::format("`{}`", rest));
  }

  absl::StatusOr<int64_t> Number() {
    SkipBlanks();
    int64_t number = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (error != std::errc()) return Expected("a number");
    at_ += static_cast<size_t>(end - begin);
    return number;
  }
  // "a", or \"a\".
  absl::StatusOr<std::string> Quoted() {
    const bool is_escaped = Take("\\\"");
    if (!is_escaped && !Take("\"")) return Expected("\"");
    const size_t end = text_.find(is_escaped ? "\\\"" : "\"", at_);
    if (end == std::string_view::npos) return Expected("…\"");
    std::string name(text_.substr(at_, end - at_));
    at_ = end + (is_escaped ? 2 : 1);
    return name;
  }
  // The name of a mesh.
  absl::StatusOr<std::string> Name() {
    SkipBlanks();
    if (NextIsQuote()) return Quoted();
    const size_t begin = at_;
    while (at_ < text_.size() && IsWordCharacter(text_[at_])) ++at_;
    if (at_ == begin) return Expected("a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  bool NextIsQuote() {
    SkipBlanks();
    const std::string_view rest = text_.substr(at_);
    return rest.starts_with('"') || rest.starts_with("\\\"");
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Reads items until `close`, with commas between them; what opens the list has been read.
template <class Item>
absl::Status ReadList(TextReader& reader, std::string_view close, Item&& item) {
  if (reader.Take(close)) return absl::OkStatus();
  do {
    RETURN_IF_ERROR(item());
  } while (reader.Take(","));
  return reader.Expect(close);
}

// `["a"=2, "b"=4], device_ids=[…]>`
absl::StatusOr<Mesh> ReadMesh(TextReader& reader) {
  Mesh mesh;
  RETURN_IF_ERROR(reader.Expect("["));
  RETURN_IF_ERROR(ReadList(reader, "]", [&]() -> absl::Status {
    MeshAxis axis;
    ASSIGN_OR_RETURN(axis.name, reader.Quoted());
    RETURN_IF_ERROR(reader.Expect("="));
    ASSIGN_OR_RETURN(axis.size, reader.Number());
    mesh.axes.push_back(std::move(axis));
    return absl::OkStatus();
  }));
  if (reader.Take(",")) {
    RETURN_IF_ERROR(reader.Expect("device_ids"));
    RETURN_IF_ERROR(reader.Expect("="));
    RETURN_IF_ERROR(reader.Expect("["));
    RETURN_IF_ERROR(ReadList(reader, "]", [&]() -> absl::Status {
      ASSIGN_OR_RETURN(mesh.device_ids.emplace_back(), reader.Number());
      return absl::OkStatus();
    }));
  }
  RETURN_IF_ERROR(reader.Expect(">"));
  if (mesh.axes.empty() && mesh.device_ids.size() == 1) {
    mesh.maximal_device = mesh.device_ids[0];
    mesh.device_ids.clear();
  }
  std::vector<int64_t> counted(mesh.device_ids.size());
  for (size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<int64_t>(i);
  if (mesh.device_ids == counted) mesh.device_ids.clear();
  RETURN_IF_ERROR(mesh.Validate());
  return mesh;
}

class ShardingReader {
 public:
  ShardingReader(TextReader& reader, const ShardyMeshes& meshes, int64_t partitions)
      : reader_(reader), meshes_(meshes), partitions_(partitions) {}

  // `<@mesh, [{"a", ?}, {}], replicated={"b"}, unreduced={"c"}>`
  absl::Status ReadInto(ShardyShardings& result) {
    NamedSharding sharding;
    RETURN_IF_ERROR(reader_.Expect("<"));
    ASSIGN_OR_RETURN(sharding.mesh, MeshHere());
    RETURN_IF_ERROR(reader_.Expect(","));
    RETURN_IF_ERROR(reader_.Expect("["));
    RETURN_IF_ERROR(ReadList(reader_, "]", [&] {
      return ReadDim(sharding.mesh, sharding.dims.emplace_back(), result.has_priorities);
    }));
    while (reader_.Take(",")) {
      const bool is_replicated = reader_.Take("replicated");
      if (!is_replicated) RETURN_IF_ERROR(reader_.Expect("unreduced"));
      RETURN_IF_ERROR(reader_.Expect("="));
      RETURN_IF_ERROR(reader_.Expect("{"));
      std::vector<AxisRef>& axes = is_replicated ? sharding.replicated : sharding.unreduced;
      RETURN_IF_ERROR(ReadList(reader_, "}", [&] { return ReadAxis(sharding.mesh, axes); }));
    }
    RETURN_IF_ERROR(reader_.Expect(">"));
    RETURN_IF_ERROR(sharding.Validate());
    result.values.push_back(std::move(sharding));
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Mesh> MeshHere() {
    if (reader_.Take("mesh<")) return ReadMesh(reader_);
    RETURN_IF_ERROR(reader_.Expect("@"));
    ASSIGN_OR_RETURN(const std::string name, reader_.Name());
    const auto mesh = meshes_.find(name);
    if (mesh == meshes_.end()) return Error("the module has no mesh `{}`", name);
    const int64_t devices = mesh->second.device_count();
    // A mesh of one is a device.
    if (partitions_ > 1 && devices > 1 && devices != partitions_)
      return Error("mesh `{}` has {} devices, but there are {} partitions", name, devices,
                   partitions_);
    return mesh->second;
  }

  // `{"a", "b":(1)2, ?}p0`
  absl::Status ReadDim(const Mesh& mesh, NamedSharding::Dim& dim, bool& has_priorities) {
    RETURN_IF_ERROR(reader_.Expect("{"));
    RETURN_IF_ERROR(ReadList(reader_, "}", [&]() -> absl::Status {
      if (dim.open) return reader_.Expected("}");
      dim.open = reader_.Take("?");
      return dim.open ? absl::OkStatus() : ReadAxis(mesh, dim.axes);
    }));
    if (!reader_.Take("p")) return absl::OkStatus();
    has_priorities = true;
    return reader_.Number().status();
  }

  absl::Status ReadAxis(const Mesh& mesh, std::vector<AxisRef>& axes) {
    ASSIGN_OR_RETURN(const std::string name, reader_.Quoted());
    AxisRef axis;
    axis.axis = mesh.FindAxis(name);
    if (axis.axis < 0) return Error("`{}` has no axis `{}`", mesh.ToString(), name);
    if (reader_.Take(":")) {
      RETURN_IF_ERROR(reader_.Expect("("));
      ASSIGN_OR_RETURN(axis.pre_size, reader_.Number());
      RETURN_IF_ERROR(reader_.Expect(")"));
      ASSIGN_OR_RETURN(axis.size, reader_.Number());
    }
    axes.push_back(axis);
    return absl::OkStatus();
  }

  TextReader& reader_;
  const ShardyMeshes& meshes_;
  const int64_t partitions_;
};

}  // namespace

std::string_view ShardyText(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return value;
  return value.substr(1, value.size() - 2);
}

absl::StatusOr<ShardyMeshes> ParseShardyMeshes(std::string_view text) {
  TextReader reader(text);
  ShardyMeshes meshes;
  RETURN_IF_ERROR(reader.Expect("{"));
  RETURN_IF_ERROR(ReadList(reader, "}", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::string name, reader.Name());
    RETURN_IF_ERROR(reader.Expect("="));
    RETURN_IF_ERROR(reader.Expect("#sdy.mesh<"));
    ASSIGN_OR_RETURN(Mesh mesh, ReadMesh(reader));
    if (!meshes.emplace(name, std::move(mesh)).second) return Error("two meshes `{}`", name);
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(reader.ExpectEnd());
  return meshes;
}

absl::StatusOr<ShardyShardings> ParseShardyShardings(std::string_view text,
                                                     const ShardyMeshes& meshes,
                                                     int64_t partitions) {
  TextReader reader(text);
  ShardingReader shardings(reader, meshes, partitions);
  ShardyShardings result;
  if (reader.Take("#sdy.sharding_per_value<")) {
    RETURN_IF_ERROR(reader.Expect("["));
    RETURN_IF_ERROR(ReadList(reader, "]", [&] { return shardings.ReadInto(result); }));
    RETURN_IF_ERROR(reader.Expect(">"));
  } else {
    RETURN_IF_ERROR(reader.Expect("#sdy.sharding"));
    RETURN_IF_ERROR(shardings.ReadInto(result));
  }
  RETURN_IF_ERROR(reader.ExpectEnd());
  return result;
}

absl::StatusOr<std::vector<std::string>> ParseShardyAxes(std::string_view text) {
  TextReader reader(text);
  std::vector<std::string> axes;
  RETURN_IF_ERROR(reader.Expect("#sdy<manual_axes{"));
  RETURN_IF_ERROR(ReadList(reader, "}", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(axes.emplace_back(), reader.Quoted());
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(reader.Expect(">"));
  RETURN_IF_ERROR(reader.ExpectEnd());
  return axes;
}

absl::StatusOr<int64_t> ParseShardyNumber(std::string_view text) {
  TextReader reader(text);
  ASSIGN_OR_RETURN(const int64_t number, reader.Number());
  RETURN_IF_ERROR(reader.Expect(":"));
  RETURN_IF_ERROR(reader.Expect("i64"));
  RETURN_IF_ERROR(reader.ExpectEnd());
  return number;
}

}  // namespace hlo
