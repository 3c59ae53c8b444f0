#include "lib/support/code_listener.h"

#include <elf.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "lib/support/status.h"

// The interface of GDB; names, types and order are its own ("JIT Compilation Interface" in its
// manual).
extern "C" {
enum JitAction : uint32_t { kJitNoAction = 0, kJitRegister = 1, kJitUnregister = 2 };
struct JitCodeEntry {
  JitCodeEntry* next;
  JitCodeEntry* previous;
  const char* file;
  uint64_t file_size;
};
struct JitDescriptor {
  uint32_t version;
  uint32_t action;
  JitCodeEntry* relevant;
  JitCodeEntry* first;
};
// GDB reads the one, and stops at the other.
__attribute__((used, visibility("default")))
JitDescriptor __jit_debug_descriptor = {1, kJitNoAction, nullptr, nullptr};
// Of instructions that no other function has, so that the linker does not merge it with one.
__attribute__((noinline, used, visibility("default"))) void __jit_debug_register_code() {
  asm volatile("nop; nop; nop; nop; nop; nop; nop" ::: "memory");
}
}

namespace hlo {
namespace {

std::mutex mutex;  // of the map and of GDB's list
std::FILE* map = nullptr;
std::atomic<bool> is_listening{false};

void TellGdb(JitAction action, JitCodeEntry* entry) {
  __jit_debug_descriptor.action = action;
  __jit_debug_descriptor.relevant = entry;
  __jit_debug_register_code();
  __jit_debug_descriptor.action = kJitNoAction;
  __jit_debug_descriptor.relevant = nullptr;
}

template <class T>
void Append(std::string& file, const T& part) {
  file.append(reinterpret_cast<const char*>(&part), sizeof part);
}

}  // namespace

absl::Status ListenForCode() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (map != nullptr) return absl::OkStatus();
  const std::string path = fmt::format("/tmp/perf-{}.map", getpid());  // where perf looks
  map = std::fopen(path.c_str(), "we");
  if (map == nullptr) return Error("cannot write {}: {}", path, std::strerror(errno));
  is_listening = true;
  return absl::OkStatus();
}

bool IsListeningForCode() { return is_listening.load(std::memory_order_relaxed); }

struct AnnouncedCode::Entry {
  std::string file;
  JitCodeEntry code{};
};

AnnouncedCode::AnnouncedCode(absl::Span<const CodeSymbol> symbols) {
  if (!IsListeningForCode() || symbols.empty()) return;
  entry_ = std::make_unique<Entry>();
  entry_->file = SymbolFile(symbols);
  const std::lock_guard<std::mutex> lock(mutex);
  for (const CodeSymbol& symbol : symbols)
    fmt::print(map, "{:x} {:x} {}\n", symbol.address, symbol.size, symbol.name);
  std::fflush(map);
  JitCodeEntry& code = entry_->code;
  code.file = entry_->file.data();
  code.file_size = entry_->file.size();
  code.next = __jit_debug_descriptor.first;
  if (code.next != nullptr) code.next->previous = &code;
  __jit_debug_descriptor.first = &code;
  TellGdb(kJitRegister, &code);
}

AnnouncedCode::~AnnouncedCode() {
  if (entry_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex);
  JitCodeEntry& code = entry_->code;
  (code.previous != nullptr ? code.previous->next : __jit_debug_descriptor.first) = code.next;
  if (code.next != nullptr) code.next->previous = code.previous;
  TellGdb(kJitUnregister, &code);
}

std::string SymbolFile(absl::Span<const CodeSymbol> symbols) {
  enum Section : uint16_t { kNone, kText, kSymbols, kNames, kSectionNames, kSections };
  constexpr char kSectionNameText[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
  constexpr uint32_t kNameOffsets[kSections] = {0, 1, 7, 15, 23};
  uint64_t begin = UINT64_MAX, end = 0;
  std::string names(1, '\0'), table(sizeof(Elf64_Sym), '\0');
  for (const CodeSymbol& symbol : symbols) {
    begin = std::min(begin, symbol.address);
    end = std::max(end, symbol.address + symbol.size);
  }
  for (const CodeSymbol& symbol : symbols) {
    Elf64_Sym row{};
    row.st_name = static_cast<uint32_t>(names.size());
    row.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    row.st_shndx = kText;
    row.st_value = symbol.address - begin;  // GDB adds the address of the section
    row.st_size = symbol.size;
    Append(table, row);
    names += symbol.name;
    names += '\0';
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kSectionNames;
  header.e_shoff = sizeof header;
  Elf64_Shdr sections[kSections] = {};
  uint64_t at = sizeof header + sizeof sections;
  const auto place = [&](Section section, uint32_t type, uint64_t size) {
    sections[section].sh_name = kNameOffsets[section];
    sections[section].sh_type = type;
    sections[section].sh_addralign = 1;
    sections[section].sh_offset = at;
    sections[section].sh_size = size;
    if (type != SHT_NOBITS) at += size;
  };
  place(kText, SHT_NOBITS, end - begin);
  sections[kText].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  sections[kText].sh_addr = begin;
  place(kSymbols, SHT_SYMTAB, table.size());
  sections[kSymbols].sh_link = kNames;
  sections[kSymbols].sh_info = 1;  // the first global symbol
  sections[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  place(kNames, SHT_STRTAB, names.size());
  place(kSectionNames, SHT_STRTAB, sizeof kSectionNameText);
  std::string file;
  Append(file, header);
  for (const Elf64_Shdr& section : sections) Append(file, section);
  file += table + names;
  file.append(kSectionNameText, sizeof kSectionNameText);
  return file;
}

}  // namespace hlo
