#include "lib/support/code_listener.h"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>

namespace hlo {
namespace {

TEST_CASE("the file for GDB holds each function by name, address and size", "[code-listener]") {
  const CodeSymbol symbols[] = {{"kernel.b", 0x2000, 0x40}, {"kernel.a", 0x1000, 0x10}};
  const std::string file = SymbolFile(symbols);
  Elf64_Ehdr header;
  REQUIRE(file.size() > sizeof header);
  std::memcpy(&header, file.data(), sizeof header);
  CHECK(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0);
  Elf64_Shdr sections[5];
  REQUIRE(header.e_shnum == 5);
  std::memcpy(sections, file.data() + header.e_shoff, sizeof sections);
  const auto name_of = [&](const Elf64_Shdr& section) {
    return std::string(file.data() + sections[header.e_shstrndx].sh_offset + section.sh_name);
  };
  CHECK(name_of(sections[1]) == ".text");
  CHECK(sections[1].sh_addr == 0x1000);
  CHECK(sections[1].sh_size == 0x1040);
  CHECK(name_of(sections[2]) == ".symtab");
  REQUIRE(sections[2].sh_size == 3 * sizeof(Elf64_Sym));
  Elf64_Sym first;
  std::memcpy(&first, file.data() + sections[2].sh_offset + sizeof first, sizeof first);
  CHECK(std::string(file.data() + sections[3].sh_offset + first.st_name) == "kernel.b");
  CHECK(first.st_value == 0x1000);
  CHECK(first.st_size == 0x40);
  for (const Elf64_Shdr& section : sections)
    CHECK((section.sh_type == SHT_NOBITS || section.sh_offset + section.sh_size <= file.size()));
}

TEST_CASE("code that nobody listens for is announced to nobody", "[code-listener]") {
  CHECK_FALSE(IsListeningForCode());
  const CodeSymbol symbols[] = {{"kernel", 0x1000, 0x10}};
  const AnnouncedCode code(symbols);
}

}  // namespace
}  // namespace hlo
