"""`nvidia-smi -q -x`: the form of driver 570, of which recorded reports of 535 and 595 are the neighbours."""

import time

from fleetops.lab.driver import CUDA_VERSION, LANES, VERSION
from fleetops.lab.tools.smi_view import View

# A Hopper slows down two degrees above what it counts its temperature limit down to.
_LIMIT_C = 87
_REASONS = (
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "display_clocks_setting",
)
_HEAD = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
\t<timestamp>{timestamp}</timestamp>
\t<driver_version>{version}</driver_version>
\t<cuda_version>{cuda}</cuda_version>
\t<attached_gpus>{count}</attached_gpus>
"""

_GPU = """\
\t<gpu id="{bdf}">
\t\t<product_name>{name}</product_name>
\t\t<product_brand>NVIDIA</product_brand>
\t\t<product_architecture>Hopper</product_architecture>
\t\t<display_mode>Disabled</display_mode>
\t\t<display_active>Disabled</display_active>
\t\t<persistence_mode>{persistence}</persistence_mode>
\t\t<addressing_mode>None</addressing_mode>
\t\t<mig_mode>
\t\t\t<current_mig>Disabled</current_mig>
\t\t\t<pending_mig>Disabled</pending_mig>
\t\t</mig_mode>
\t\t<mig_devices>
\t\t\tNone
\t\t</mig_devices>
\t\t<accounting_mode>Disabled</accounting_mode>
\t\t<accounting_mode_buffer_size>4000</accounting_mode_buffer_size>
\t\t<serial>{serial}</serial>
\t\t<uuid>{uuid}</uuid>
\t\t<minor_number>{minor}</minor_number>
\t\t<vbios_version>96.00.A5.00.01</vbios_version>
\t\t<multigpu_board>No</multigpu_board>
\t\t<gpu_reset_status>
\t\t\t<reset_required>{reset_required}</reset_required>
\t\t\t<drain_and_reset_recommended>{drain}</drain_and_reset_recommended>
\t\t</gpu_reset_status>
\t\t<gpu_recovery_action>{recovery_action}</gpu_recovery_action>
\t\t<gsp_firmware_version>{version}</gsp_firmware_version>
\t\t<pci>
\t\t\t<pci_bus>{bus}</pci_bus>
\t\t\t<pci_device>00</pci_device>
\t\t\t<pci_domain>0000</pci_domain>
\t\t\t<pci_device_id>232910DE</pci_device_id>
\t\t\t<pci_bus_id>{bdf}</pci_bus_id>
\t\t\t<pci_sub_system_id>198B10DE</pci_sub_system_id>
\t\t\t<pci_gpu_link_info>
\t\t\t\t<pcie_gen>
\t\t\t\t\t<max_link_gen>5</max_link_gen>
\t\t\t\t\t<current_link_gen>5</current_link_gen>
\t\t\t\t\t<device_current_link_gen>5</device_current_link_gen>
\t\t\t\t\t<max_device_link_gen>5</max_device_link_gen>
\t\t\t\t\t<max_host_link_gen>5</max_host_link_gen>
\t\t\t\t</pcie_gen>
\t\t\t\t<link_widths>
\t\t\t\t\t<max_link_width>{lanes_max}x</max_link_width>
\t\t\t\t\t<current_link_width>{lanes}x</current_link_width>
\t\t\t\t</link_widths>
\t\t\t</pci_gpu_link_info>
\t\t\t<replay_counter>0</replay_counter>
\t\t</pci>
\t\t<fan_speed>N/A</fan_speed>
\t\t<performance_state>P0</performance_state>
\t\t<clocks_event_reasons>
{reasons}\
\t\t</clocks_event_reasons>
\t\t<fb_memory_usage>
\t\t\t<total>{total} MiB</total>
\t\t\t<reserved>{reserved} MiB</reserved>
\t\t\t<used>{used} MiB</used>
\t\t\t<free>{free} MiB</free>
\t\t</fb_memory_usage>
\t\t<bar1_memory_usage>
\t\t\t<total>131072 MiB</total>
\t\t\t<used>1 MiB</used>
\t\t\t<free>131071 MiB</free>
\t\t</bar1_memory_usage>
\t\t<compute_mode>Default</compute_mode>
\t\t<utilization>
\t\t\t<gpu_util>0 %</gpu_util>
\t\t\t<memory_util>0 %</memory_util>
\t\t</utilization>
\t\t<ecc_mode>
\t\t\t<current_ecc>Enabled</current_ecc>
\t\t\t<pending_ecc>Enabled</pending_ecc>
\t\t</ecc_mode>
\t\t<ecc_errors>
\t\t\t<volatile>
\t\t\t\t<sram_correctable>0</sram_correctable>
\t\t\t\t<sram_uncorrectable_parity>0</sram_uncorrectable_parity>
\t\t\t\t<sram_uncorrectable_secded>0</sram_uncorrectable_secded>
\t\t\t\t<dram_correctable>0</dram_correctable>
\t\t\t\t<dram_uncorrectable>0</dram_uncorrectable>
\t\t\t</volatile>
\t\t\t<aggregate>
\t\t\t\t<sram_correctable>0</sram_correctable>
\t\t\t\t<sram_uncorrectable_parity>0</sram_uncorrectable_parity>
\t\t\t\t<sram_uncorrectable_secded>0</sram_uncorrectable_secded>
\t\t\t\t<dram_correctable>0</dram_correctable>
\t\t\t\t<dram_uncorrectable>{uncorrected}</dram_uncorrectable>
\t\t\t\t<sram_threshold_exceeded>No</sram_threshold_exceeded>
\t\t\t</aggregate>
\t\t</ecc_errors>
\t\t<remapped_rows>
\t\t\t<remapped_row_corr>0</remapped_row_corr>
\t\t\t<remapped_row_unc>{rows}</remapped_row_unc>
\t\t\t<remapped_row_pending>{remap_pending}</remapped_row_pending>
\t\t\t<remapped_row_failure>No</remapped_row_failure>
\t\t</remapped_rows>
\t\t<temperature>
\t\t\t<gpu_temp>{temperature} C</gpu_temp>
\t\t\t<gpu_temp_tlimit>{room} C</gpu_temp_tlimit>
\t\t\t<gpu_temp_max_tlimit_threshold>-8 C</gpu_temp_max_tlimit_threshold>
\t\t\t<gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold>
\t\t\t<gpu_temp_max_gpu_tlimit_threshold>0 C</gpu_temp_max_gpu_tlimit_threshold>
\t\t\t<gpu_target_temperature>N/A</gpu_target_temperature>
\t\t\t<memory_temp>{temperature} C</memory_temp>
\t\t</temperature>
\t\t<gpu_power_readings>
\t\t\t<power_state>P0</power_state>
\t\t\t<power_draw>{power}.00 W</power_draw>
\t\t\t<current_power_limit>500.00 W</current_power_limit>
\t\t</gpu_power_readings>
\t\t<fabric>
\t\t\t<state>{fabric}</state>
\t\t\t<status>{fabric_status}</status>
\t\t\t<health>
\t\t\t\t<summary>{fabric_health}</summary>
\t\t\t</health>
\t\t</fabric>
{processes}\
\t\t<accounted_processes>
\t\t</accounted_processes>
\t</gpu>

"""

_PROCESS = """\
\t\t\t<process_info>
\t\t\t\t<gpu_instance_id>N/A</gpu_instance_id>
\t\t\t\t<compute_instance_id>N/A</compute_instance_id>
\t\t\t\t<pid>{pid}</pid>
\t\t\t\t<type>C</type>
\t\t\t\t<process_name>{name}</process_name>
\t\t\t\t<used_memory>{used} MiB</used_memory>
\t\t\t</process_info>
"""


def report(shown: list[View], attached: int) -> str:
    """The whole document for the GPUs that were asked for."""
    head = _HEAD.format(
        timestamp=time.strftime("%a %b %e %H:%M:%S %Y"), version=VERSION, cuda=CUDA_VERSION, count=attached
    )
    return head + "".join(map(_gpu, shown)) + "</nvidia_smi_log>\n"


def _gpu(view: View) -> str:
    action = view.state.recovery_action
    joined = view.state.fabric == "Completed"
    return _GPU.format(
        bdf=view.gpu.bdf,
        bus=view.gpu.bdf[9:11],
        name=view.gpu.name,
        uuid=view.gpu.uuid,
        serial=f"16522230{view.gpu.minor:05d}",
        minor=view.gpu.minor,
        version=VERSION,
        persistence="Enabled" if view.state.persistence else "Disabled",
        reset_required="Yes" if action == "Reset" else "No",
        drain="Yes" if action == "Drain and Reset" else "No",
        recovery_action=action,
        total=view.gpu.total_mib,
        reserved=view.gpu.reserved_mib,
        used=view.used_mib,
        free=view.free_mib,
        lanes=view.state.lanes,
        lanes_max=LANES,
        reasons=_reasons(view),
        uncorrected=view.state.ecc_uncorrected,
        fabric=view.state.fabric,
        fabric_status="Success" if joined else "N/A",
        fabric_health="Healthy" if joined else "N/A",
        rows=int(view.state.remap_pending),
        remap_pending="Yes" if view.state.remap_pending else "No",
        room=_LIMIT_C - temperature(view),
        temperature=temperature(view),
        power=power(view),
        processes=_processes(view),
    )


def _processes(view: View) -> str:
    if not view.clients:
        return "\t\t<processes>\n\t\t</processes>\n"
    each = (_PROCESS.format(pid=one.pid, name=one.name, used=one.used_mib) for one in view.clients)
    return f"\t\t<processes>\n{''.join(each)}\t\t</processes>\n"


def _reasons(view: View) -> str:
    active = dict.fromkeys(view.state.slowed_by, "Active")
    tags = (f"clocks_event_reason_{name}" for name in _REASONS)
    return "".join(
        f"\t\t\t<{tag}>{active.get(name, 'Not Active')}</{tag}>\n"
        for tag, name in zip(tags, _REASONS, strict=True)
    )


def temperature(view: View) -> int:
    """Degrees Celsius: warmer while memory is in use."""
    if view.state.temperature_c is not None:
        return view.state.temperature_c
    return 41 if view.used_mib > view.gpu.idle_mib else 28


def power(view: View) -> int:
    """Watts: more while memory is in use."""
    return 118 if view.used_mib > view.gpu.idle_mib else 71
