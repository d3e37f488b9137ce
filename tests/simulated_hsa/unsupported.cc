// SPDX-License-Identifier: Apache-2.0
//
// Entry points that the HIP runtime links to and that are not simulated:
// images, files, memory shared with other processes or graphics. They answer
// with an error, whatever the arguments.

#include <hsa/hsa.h>

// The functions are declared here without their parameters, which nothing
// looks at, because several are missing in older headers.
#define SIMULATED_HSA_UNSUPPORTED(name) \
  extern "C" hsa_status_t name() { return HSA_STATUS_ERROR; }

SIMULATED_HSA_UNSUPPORTED(hsa_amd_image_create)
SIMULATED_HSA_UNSUPPORTED(hsa_ext_image_create)
SIMULATED_HSA_UNSUPPORTED(hsa_ext_image_create_with_layout)
SIMULATED_HSA_UNSUPPORTED(hsa_ext_image_data_get_info)
SIMULATED_HSA_UNSUPPORTED(hsa_ext_image_destroy)
SIMULATED_HSA_UNSUPPORTED(hsa_ext_image_export)
SIMULATED_HSA_UNSUPPORTED(hsa_ext_image_import)
SIMULATED_HSA_UNSUPPORTED(hsa_ext_sampler_create)
SIMULATED_HSA_UNSUPPORTED(hsa_ext_sampler_destroy)

SIMULATED_HSA_UNSUPPORTED(hsa_amd_interop_map_buffer)
SIMULATED_HSA_UNSUPPORTED(hsa_amd_interop_unmap_buffer)
SIMULATED_HSA_UNSUPPORTED(hsa_amd_ipc_memory_attach)
SIMULATED_HSA_UNSUPPORTED(hsa_amd_ipc_memory_create)
SIMULATED_HSA_UNSUPPORTED(hsa_amd_ipc_memory_detach)

SIMULATED_HSA_UNSUPPORTED(hsa_amd_svm_attributes_get)
SIMULATED_HSA_UNSUPPORTED(hsa_amd_svm_attributes_set)
SIMULATED_HSA_UNSUPPORTED(hsa_amd_svm_prefetch_async)

// From HIP 6.0.
SIMULATED_HSA_UNSUPPORTED(hsa_amd_vmem_export_shareable_handle)
SIMULATED_HSA_UNSUPPORTED(hsa_amd_vmem_import_shareable_handle)

// From HIP 7.
SIMULATED_HSA_UNSUPPORTED(hsa_amd_ais_file_read)
SIMULATED_HSA_UNSUPPORTED(hsa_amd_ais_file_write)
SIMULATED_HSA_UNSUPPORTED(hsa_amd_portable_export_dmabuf)
SIMULATED_HSA_UNSUPPORTED(hsa_ext_sampler_create_v2)
