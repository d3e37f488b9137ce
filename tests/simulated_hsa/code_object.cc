// SPDX-License-Identifier: Apache-2.0

#include "code_object.h"

#include <elf.h>

#include <cstring>

namespace simulated_hsa {
namespace {

// A part of the file as an array; empty if it is not within the file.
template <typename T>
std::vector<T> ReadArray(std::string_view file, uint64_t offset,
                         uint64_t bytes) {
  if (offset > file.size() || bytes > file.size() - offset) return {};
  std::vector<T> array(bytes / sizeof(T));
  if (!array.empty()) {
    std::memcpy(array.data(), file.data() + offset, array.size() * sizeof(T));
  }
  return array;
}

std::string_view Part(std::string_view file, uint64_t offset, uint64_t bytes) {
  if (offset > file.size() || bytes > file.size() - offset) return {};
  return file.substr(offset, bytes);
}

}  // namespace

std::vector<CodeObjectSymbol> ReadSymbols(std::string_view code_object) {
  const auto headers =
      ReadArray<Elf64_Ehdr>(code_object, 0, sizeof(Elf64_Ehdr));
  if (headers.empty() ||
      std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      headers[0].e_ident[EI_CLASS] != ELFCLASS64) {
    return {};
  }
  const auto sections = ReadArray<Elf64_Shdr>(
      code_object, headers[0].e_shoff, headers[0].e_shnum * sizeof(Elf64_Shdr));
  std::vector<CodeObjectSymbol> found;
  for (const Elf64_Shdr& table : sections) {
    if (table.sh_type != SHT_DYNSYM || table.sh_link >= sections.size()) {
      continue;
    }
    const Elf64_Shdr& strings = sections[table.sh_link];
    const std::string_view names =
        Part(code_object, strings.sh_offset, strings.sh_size);
    for (const Elf64_Sym& symbol :
         ReadArray<Elf64_Sym>(code_object, table.sh_offset, table.sh_size)) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT ||
          symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections.size() ||
          symbol.st_name >= names.size()) {
        continue;
      }
      CodeObjectSymbol result;
      result.name = names.data() + symbol.st_name;
      result.size = symbol.st_size;
      const Elf64_Shdr& section = sections[symbol.st_shndx];
      if (section.sh_type != SHT_NOBITS) {
        result.bytes =
            Part(code_object,
                 section.sh_offset + (symbol.st_value - section.sh_addr),
                 symbol.st_size);
      }
      found.push_back(std::move(result));
    }
  }
  return found;
}

}  // namespace simulated_hsa
