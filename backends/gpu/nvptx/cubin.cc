#include "backends/gpu/nvptx/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr size_t kInstructionBytes = 16;
constexpr std::string_view kTextPrefix = ".text.";
constexpr std::string_view kSharedPrefix = ".nv.shared.";
constexpr std::string_view kParameterPrefix = ".nv.constant0.";
constexpr std::string_view kInfo = ".nv.info";

// What we count, by the low 12 bits of an instruction.
enum class Counted { kLoad, kStore, kLocal, kTensor };
struct MachineOpcode {
  uint32_t code;
  Counted counted;
};
constexpr MachineOpcode kOpcodes[] = {
    {0x981, Counted::kLoad},    // LDG
    {0x986, Counted::kStore},   // STG
    {0x983, Counted::kLocal},   // LDL
    {0x387, Counted::kLocal},   // STL
    {0x23c, Counted::kTensor},  // HMMA
    {0x23f, Counted::kTensor},  // DMMA
    {0x9f0, Counted::kTensor},  // HGMMA
};

// Widths by the access's field of three bits; signed and unsigned numbers of 8 and 16 bits.
constexpr int kWidthIndex[8] = {0, 0, 1, 1, 2, 3, 4, 4};

template <class T>
bool ReadAt(std::string_view bytes, size_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return true;
}

void CountInstructions(std::string_view code, KernelResources& kernel) {
  constexpr uint32_t kNop = 0x918;
  for (size_t at = 0; at + kInstructionBytes <= code.size(); at += kInstructionBytes) {
    uint64_t low = 0, high = 0;
    ReadAt(code, at, low);
    ReadAt(code, at + 8, high);
    const auto opcode = static_cast<uint32_t>(low & 0xfff);
    if (opcode != kNop) ++kernel.instructions;  // the end is filled with them
    for (const MachineOpcode& row : kOpcodes) {
      if (row.code != opcode) continue;
      const auto width = static_cast<size_t>(kWidthIndex[high >> 9 & 7]);
      switch (row.counted) {
        case Counted::kLoad: ++kernel.loads[width]; break;
        case Counted::kStore: ++kernel.stores[width]; break;
        case Counted::kLocal: ++kernel.local_accesses; break;
        case Counted::kTensor: ++kernel.tensor_instructions; break;
      }
    }
  }
}

// The registers of the kernel with this symbol (the lower bytes of its section's sh_info), from the
// table .nv.info: entries of a format, a kind, a size and so many bytes.
int RegistersOf(std::string_view info, uint32_t symbol) {
  constexpr uint8_t kSized = 4, kRegisterCount = 0x2f;
  struct Entry {
    uint8_t format, kind;
    uint16_t size;
  } entry;
  for (size_t at = 0; ReadAt(info, at, entry); at += sizeof entry) {
    if (entry.format != kSized) continue;
    uint32_t words[2] = {};
    if (entry.kind == kRegisterCount && ReadAt(info, at + sizeof entry, words) &&
        words[0] == symbol)
      return static_cast<int>(words[1]);
    at += entry.size;
  }
  return 0;
}

}  // namespace

absl::StatusOr<std::vector<KernelResources>> ReadCubin(std::string_view cubin) {
  Elf64_Ehdr header;
  constexpr Elf64_Half kCudaMachine = 190;
  if (!ReadAt(cubin, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_machine != kCudaMachine)
    return Internal("these {} bytes are no cubin", cubin.size());
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  for (size_t i = 0; i < sections.size(); ++i) {
    if (!ReadAt(cubin, header.e_shoff + i * header.e_shentsize, sections[i]))
      return Internal("the cubin ends before its section {}", i);
  }
  RET_CHECK(header.e_shstrndx < sections.size(), "the cubin has no section names");
  const Elf64_Shdr& names = sections[header.e_shstrndx];
  const auto contents = [&](const Elf64_Shdr& section) {
    return section.sh_offset <= cubin.size() ? cubin.substr(section.sh_offset, section.sh_size)
                                             : std::string_view();
  };
  const auto name_of = [&](const Elf64_Shdr& section) {
    const std::string_view all = contents(names);
    const std::string_view rest =
        section.sh_name < all.size() ? all.substr(section.sh_name) : std::string_view();
    return rest.substr(0, rest.find('\0'));
  };
  std::vector<KernelResources> kernels;
  for (const Elf64_Shdr& section : sections) {
    const std::string_view name = name_of(section);
    if (!name.starts_with(kTextPrefix)) continue;
    KernelResources kernel;
    kernel.name = name.substr(kTextPrefix.size());
    // Kernels have parameters; functions that they call do not.
    const auto has_parameters = [&](const Elf64_Shdr& other) {
      const std::string_view table = name_of(other);
      return table.starts_with(kParameterPrefix) &&
             table.substr(kParameterPrefix.size()) == kernel.name;
    };
    if (std::none_of(sections.begin(), sections.end(), has_parameters)) continue;
    CountInstructions(contents(section), kernel);
    for (const Elf64_Shdr& other : sections) {
      const std::string_view table = name_of(other);
      if (table == kInfo)
        kernel.registers = RegistersOf(contents(other), section.sh_info & 0xffffff);
      if (table.starts_with(kSharedPrefix) && table.substr(kSharedPrefix.size()) == kernel.name)
        kernel.shared_bytes = static_cast<int>(other.sh_size);
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::string ToText(const AccessWidths& widths) {
  std::string text;
  for (size_t i = widths.size(); i-- > 0;) {
    if (widths[i] == 0) continue;
    text += fmt::format("{}{}x{}", text.empty() ? "" : "+", widths[i], 1 << i);
  }
  return text.empty() ? "-" : text;
}

std::string ToTable(const std::vector<KernelResources>& kernels) {
  std::string text =
      "registers  shared  local  tensor  instructions  loads             stores            "
      "blocks  threads  occupancy  kernel\n";
  for (const KernelResources& kernel : kernels) {
    text +=
        fmt::format("{:9}  {:6}  {:5}  {:6}  {:12}  {:16}  {:16}  {:>6}  {:7}  {:8.0f}%  {}\n",
                    kernel.registers, kernel.shared_bytes, kernel.local_accesses,
                    kernel.tensor_instructions, kernel.instructions, ToText(kernel.loads),
                    ToText(kernel.stores), kernel.blocks == 0 ? "-" : std::to_string(kernel.blocks),
                    kernel.threads, 100 * kernel.occupancy, kernel.name);
  }
  return text;
}

}  // namespace hlo::gpu
