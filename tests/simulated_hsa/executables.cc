// SPDX-License-Identifier: Apache-2.0

#include "executables.h"

#include <hsa/hsa_ven_amd_loader.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "answer.h"
#include "blit_kernels.h"
#include "code_object.h"

namespace simulated_hsa {
namespace {

// The 64-byte record that a kernel's symbol names, as far as it is used here.
struct KernelDescriptor {
  uint32_t group_segment_size;
  uint32_t private_segment_size;
  uint32_t kernarg_size;
  uint32_t rest[13];
};

// What a kernel object, which is an address, points to. The descriptor comes
// first: the HIP runtime reads it through that address.
struct alignas(64) Kernel {
  KernelDescriptor descriptor = {};
  KernelFunction function = nullptr;
};

// A kernel, or a variable.
struct Symbol {
  std::string name;
  std::unique_ptr<Kernel> kernel;
  std::string variable;

  uint64_t handle() const { return reinterpret_cast<uint64_t>(this); }
};

class Executable {
 public:
  void Load(std::string_view code_object) {
    for (CodeObjectSymbol& found : ReadSymbols(code_object)) {
      Symbol& symbol = symbols_[found.name];
      symbol.name = found.name;
      if (IsKernel(found.name)) {
        symbol.kernel = std::make_unique<Kernel>();
        found.bytes.copy(reinterpret_cast<char*>(&symbol.kernel->descriptor),
                         sizeof(KernelDescriptor));
        symbol.kernel->function = FindBlitKernel(found.name, code_object);
      } else {
        symbol.variable.assign(found.bytes);
        symbol.variable.resize(found.size);
      }
    }
  }

  const std::map<std::string, Symbol>& symbols() const { return symbols_; }

  static Executable* From(hsa_executable_t handle) {
    return reinterpret_cast<Executable*>(handle.handle);
  }

 private:
  static bool IsKernel(std::string_view name) {
    constexpr std::string_view kSuffix = ".kd";
    return name.size() > kSuffix.size() &&
           name.substr(name.size() - kSuffix.size()) == kSuffix;
  }

  std::map<std::string, Symbol> symbols_;
};

}  // namespace

void RunKernel(const hsa_kernel_dispatch_packet_t& packet) {
  const auto* kernel = reinterpret_cast<const Kernel*>(packet.kernel_object);
  if (kernel->function != nullptr) kernel->function(packet.kernarg_address);
}

}  // namespace simulated_hsa

using simulated_hsa::Answer;
using simulated_hsa::Executable;
using simulated_hsa::Symbol;

hsa_status_t hsa_code_object_reader_create_from_memory(
    const void* code_object, size_t size, hsa_code_object_reader_t* reader) {
  const auto* view =
      new std::string_view(static_cast<const char*>(code_object), size);
  reader->handle = reinterpret_cast<uint64_t>(view);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t reader) {
  delete reinterpret_cast<std::string_view*>(reader.handle);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_create_alt(hsa_profile_t,
                                       hsa_default_float_rounding_mode_t,
                                       const char*,
                                       hsa_executable_t* executable) {
  executable->handle = reinterpret_cast<uint64_t>(new Executable);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_destroy(hsa_executable_t executable) {
  delete Executable::From(executable);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_load_agent_code_object(
    hsa_executable_t executable, hsa_agent_t, hsa_code_object_reader_t reader,
    const char*, hsa_loaded_code_object_t* loaded) {
  Executable::From(executable)
      ->Load(*reinterpret_cast<std::string_view*>(reader.handle));
  if (loaded != nullptr) loaded->handle = executable.handle;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_freeze(hsa_executable_t, const char*) {
  return HSA_STATUS_SUCCESS;
}

// Variables are defined by the HIP runtime for code that runs on a GPU.
hsa_status_t hsa_executable_agent_global_variable_define(hsa_executable_t,
                                                         hsa_agent_t,
                                                         const char*, void*) {
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_get_symbol_by_name(
    hsa_executable_t executable, const char* name, const hsa_agent_t*,
    hsa_executable_symbol_t* symbol) {
  const auto& symbols = Executable::From(executable)->symbols();
  const auto found = symbols.find(name);
  if (found == symbols.end()) return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
  symbol->handle = found->second.handle();
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_iterate_symbols(
    hsa_executable_t executable,
    hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t, void*),
    void* data) {
  for (const auto& [name, symbol] : Executable::From(executable)->symbols()) {
    const hsa_status_t status =
        callback(executable, hsa_executable_symbol_t{symbol.handle()}, data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_symbol_get_info(
    hsa_executable_symbol_t handle, hsa_executable_symbol_info_t attribute,
    void* value) {
  const auto* symbol = reinterpret_cast<const Symbol*>(handle.handle);
  const simulated_hsa::Kernel* const kernel = symbol->kernel.get();
  switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
      return Answer(value, kernel != nullptr ? HSA_SYMBOL_KIND_KERNEL
                                             : HSA_SYMBOL_KIND_VARIABLE);
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
      return Answer(value, static_cast<uint32_t>(symbol->name.size()));
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
      symbol->name.copy(static_cast<char*>(value), symbol->name.size());
      return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST:  // asked of kernels too
      return Answer(value, false);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS:
      return Answer(value, symbol->variable.data());
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE:
      return Answer(value, static_cast<uint32_t>(symbol->variable.size()));
    default:
      break;
  }
  if (kernel == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
      return Answer(value, kernel);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
      return Answer(value, kernel->descriptor.kernarg_size);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT:
      return Answer(value, uint32_t{16});
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
      return Answer(value, kernel->descriptor.group_segment_size);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
      return Answer(value, kernel->descriptor.private_segment_size);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK:
      return Answer(value, false);
    default:
      return simulated_hsa::Unknown("symbol info", attribute);
  }
}
